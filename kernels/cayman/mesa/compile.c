// Compiles GLSL programs with Mesa's driver and uses them once, so that the driver makes machine code for them:
//   compile FILE.comp               a compute program
//   compile FILE.vert FILE.frag     a program that draws
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GL_GLEXT_PROTOTYPES
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GL/gl.h>
#include <GL/glext.h>

// The one function of libgbm that this needs.
struct gbm_device;
struct gbm_device *gbm_create_device(int fd);

static _Noreturn void fail(const char *what, const char *about) {
    fprintf(stderr, "compile: %s: %s\n", what, about);
    exit(1);
}

static void open_context(void) {
    const int fd = open("/dev/dri/renderD128", O_RDWR);
    struct gbm_device *device = fd < 0 ? NULL : gbm_create_device(fd);
    if (!device)
        fail("no device", "is device.so in LD_PRELOAD, and does TREE name its files?");
    EGLDisplay display = eglGetPlatformDisplay(EGL_PLATFORM_GBM_KHR, device, NULL);
    EGLint major, minor;
    if (!eglInitialize(display, &major, &minor) || !eglBindAPI(EGL_OPENGL_API))
        fail("no display", "eglInitialize failed");
    const EGLint attributes[] = {EGL_CONTEXT_MAJOR_VERSION, 4, EGL_CONTEXT_MINOR_VERSION, 5, EGL_CONTEXT_OPENGL_PROFILE_MASK,
                                 EGL_CONTEXT_OPENGL_CORE_PROFILE_BIT, EGL_NONE};
    EGLContext context = eglCreateContext(display, EGL_NO_CONFIG_KHR, EGL_NO_CONTEXT, attributes);
    if (!context || !eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, context))
        fail("no context", "expected one of OpenGL 4.5");
    const char *renderer = (const char *)glGetString(GL_RENDERER);
    if (!strstr(renderer, "CAYMAN"))
        fail("expected a renderer for CAYMAN", renderer);
}

static void attach(GLuint program, const char *path) {
    const char *dot = strrchr(path, '.');
    const GLenum stage = !dot ? 0
                         : !strcmp(dot, ".comp") ? GL_COMPUTE_SHADER
                         : !strcmp(dot, ".vert") ? GL_VERTEX_SHADER
                         : !strcmp(dot, ".frag") ? GL_FRAGMENT_SHADER
                                                 : 0;
    if (!stage)
        fail("expected a .comp, .vert or .frag", path);
    static char text[1 << 16];
    FILE *file = fopen(path, "r");
    if (!file)
        fail("cannot open", path);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    const GLuint shader = glCreateShader(stage);
    const char *source = text;
    glShaderSource(shader, 1, &source, NULL);
    glCompileShader(shader);
    GLint good;
    glGetShaderiv(shader, GL_COMPILE_STATUS, &good);
    if (!good) {
        static char log[1 << 14];
        glGetShaderInfoLog(shader, sizeof log, NULL, log);
        fail(path, log);
    }
    glAttachShader(program, shader);
}

// Two targets of four channels, depth, and a triangle of one buffer.
static void draw(void) {
    GLuint buffers[3], frame, arrays;
    glGenFramebuffers(1, &frame);
    glBindFramebuffer(GL_FRAMEBUFFER, frame);
    glGenRenderbuffers(3, buffers);
    const GLenum format[3] = {GL_RGBA8, GL_RGBA8, GL_DEPTH_COMPONENT24};
    const GLenum where[3] = {GL_COLOR_ATTACHMENT0, GL_COLOR_ATTACHMENT1, GL_DEPTH_ATTACHMENT};
    for (int i = 0; i < 3; i++) {
        glBindRenderbuffer(GL_RENDERBUFFER, buffers[i]);
        glRenderbufferStorage(GL_RENDERBUFFER, format[i], 64, 64);
        glFramebufferRenderbuffer(GL_FRAMEBUFFER, where[i], GL_RENDERBUFFER, buffers[i]);
    }
    glDrawBuffers(2, where);
    glViewport(0, 0, 64, 64);
    glEnable(GL_DEPTH_TEST);
    glGenVertexArrays(1, &arrays);
    glBindVertexArray(arrays);
    GLuint vertices;
    glGenBuffers(1, &vertices);
    glBindBuffer(GL_ARRAY_BUFFER, vertices);
    static const float data[3][8] = {{-1, -1, 0, 1, 0, 0, 0, 1}, {1, -1, 0, 1, 1, 0, 0, 1}, {0, 1, 0, 1, 0, 1, 0, 1}};
    glBufferData(GL_ARRAY_BUFFER, sizeof data, data, GL_STATIC_DRAW);
    for (GLuint i = 0; i < 2; i++) {
        glVertexAttribPointer(i, 4, GL_FLOAT, GL_FALSE, sizeof data[0], (const char *)0 + 16 * i);
        glEnableVertexAttribArray(i);
    }
    glDrawArrays(GL_TRIANGLES, 0, 3);
}

int main(int count, char **paths) {
    if (count < 2)
        fail("expected", "the files of a program");
    open_context();
    // What the driver compiled before this is its own.
    fprintf(stderr, "compile: program\n");
    const GLuint program = glCreateProgram();
    for (int i = 1; i < count; i++)
        attach(program, paths[i]);
    glLinkProgram(program);
    GLint good;
    glGetProgramiv(program, GL_LINK_STATUS, &good);
    if (!good) {
        static char log[1 << 14];
        glGetProgramInfoLog(program, sizeof log, NULL, log);
        fail(paths[1], log);
    }
    glUseProgram(program);
    // Buffers for whatever the program reads and writes.
    GLuint buffers[8];
    glGenBuffers(8, buffers);
    for (GLuint i = 0; i < 4; i++) {
        glBindBufferBase(GL_SHADER_STORAGE_BUFFER, i, buffers[i]);
        glBufferData(GL_SHADER_STORAGE_BUFFER, 1 << 16, NULL, GL_DYNAMIC_DRAW);
        glBindBufferBase(GL_UNIFORM_BUFFER, i, buffers[i]);
    }
    glBindBufferBase(GL_ATOMIC_COUNTER_BUFFER, 0, buffers[4]);
    glBufferData(GL_ATOMIC_COUNTER_BUFFER, 64, NULL, GL_DYNAMIC_DRAW);
    if (count == 2)
        glDispatchCompute(4, 2, 1);
    else
        draw();
    const GLenum error = glGetError();
    if (error) {
        char text[16];
        snprintf(text, sizeof text, "0x%x", error);
        fail("error of OpenGL", text);
    }
    glFlush();
    fprintf(stderr, "compile: end\n");
    // The driver's threads and buffers end with the process.
    fflush(NULL);
    _exit(0);
}
