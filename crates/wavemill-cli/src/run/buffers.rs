//! The buffers of all launches: which ones a launch creates, and which ones it inherits from
//! earlier launches.

use crate::input::Shown as _;
use wavemill::image::ImageDesc;
use wavemill::module::ParameterKind;

use super::parameters::{self, Known};
use super::plan::{Contents, Planned, Single, may_be_buffer, plan_one};
use super::spec::{ArgSpec, Init};
use super::view::Shape;
use crate::failure::Failure;
use crate::text::closest;

/// A buffer of the run.
#[derive(Clone, Debug)]
pub(crate) struct BufferPlan {
    pub shape: Shape,
    pub contents: Contents,
    /// For an image, its description.
    pub image: Option<ImageDesc>,
    /// The launch that it was created for.
    launch: usize,
}

/// The buffers of all launches, and the arguments that any launch may use.
#[derive(Debug, Default)]
pub(crate) struct Buffers<'a> {
    /// In order of creation.
    pub list: Vec<BufferPlan>,
    shared: &'a [ArgSpec],
    /// For each shared argument, whether a launch used it.
    used: Vec<bool>,
    /// Names of the launches in messages.
    labels: Vec<String>,
    /// Arguments `name=&other`: the name, and the number of the buffer.
    aliases: Vec<(String, usize)>,
    /// Arguments that belong to no parameter, as the user wrote them, and what they are.
    alone: Vec<(String, Planned)>,
}

impl<'a> Buffers<'a> {
    pub(crate) fn new(shared: &'a [ArgSpec]) -> Self {
        Buffers { shared, used: vec![false; shared.len()], ..Buffers::default() }
    }

    /// Starts a launch with this name; the next arguments belong to it.
    pub(crate) fn begin(&mut self, label: &str) {
        self.labels.push(label.to_owned());
    }

    /// The number of the buffer with this name.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.list.iter().position(|buffer| buffer.shape.name == name)
    }

    /// The number of the buffer that a name of a result means: a buffer's own name, or that of an
    /// argument that is `&NAME`, of the last launch that has one.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        let alias = || self.aliases.iter().rev().find(|(alias, _)| alias == name);
        self.position(name).or_else(|| alias().map(|(_, index)| *index))
    }

    fn shared_position(&self, name: &str) -> Option<usize> {
        self.shared.iter().position(|argument| argument.name.as_deref() == Some(name))
    }

    /// Whether a parameter without an argument finds one here: the buffer or the shared argument of
    /// its name.
    pub(crate) fn offers(&self, parameter: &Known) -> bool {
        parameter.named
            && (self.shared_position(&parameter.name).is_some()
                || may_be_buffer(parameter) && self.position(&parameter.name).is_some())
    }

    /// The argument of a parameter that was given none.
    fn inherit(&mut self, parameter: &Known) -> Result<Planned, Failure> {
        if let Some(index) = self.position(&parameter.name).filter(|_| may_be_buffer(parameter)) {
            return Ok(Planned::Buffer(index));
        }
        match self.shared_position(&parameter.name) {
            Some(index) => self.take(index, parameter),
            None => Err(Failure::usage(format!("there is no argument for `{}`", parameter.name))),
        }
    }

    /// A shared argument, for the parameter that uses it.
    fn take(&mut self, index: usize, parameter: &Known) -> Result<Planned, Failure> {
        self.used[index] = true;
        let argument = &self.shared[index];
        let planned = match &argument.init {
            // The next one is not this one: names only refer to earlier entries.
            Init::Same(name) => self.named(name, parameter, index),
            _ => plan_one(parameter, argument).and_then(|single| self.register(single)),
        };
        planned.map_err(|failure| failure.within(format_args!("argument `{}`", argument.shown())))
    }

    /// The buffer with this name: an existing one, or one of the first shared arguments, up to
    /// `limit`.
    fn named(&mut self, name: &str, parameter: &Known, limit: usize) -> Result<Planned, Failure> {
        if let Some(index) = self.position(name) {
            return Ok(Planned::Buffer(index));
        }
        match self.shared_position(name).filter(|index| *index < limit) {
            Some(index) => {
                let parameter = Known {
                    name: name.to_owned(),
                    named: true,
                    kind: match parameter.kind {
                        ParameterKind::Image => ParameterKind::Image,
                        _ => ParameterKind::Buffer,
                    },
                    ..parameter.clone()
                };
                self.take(index, &parameter)
            }
            None => {
                Err(Failure::usage(format!("there is no buffer `{name}` before it", name = name.shown())))
            }
        }
    }

    /// Gives a new buffer its number.
    fn register(&mut self, single: Single) -> Result<Planned, Failure> {
        let (shape, contents, image) = match single {
            Single::Buffer { shape, contents } => (shape, contents, None),
            Single::Image { shape, contents, desc } => (shape, contents, Some(desc)),
            Single::Sampler(desc) => return Ok(Planned::Sampler(desc)),
            Single::Value(bytes) => return Ok(Planned::Value(bytes)),
            Single::Aligned(bytes, alignment) => return Ok(Planned::Aligned(bytes, alignment)),
            Single::Local(size) => return Ok(Planned::Local(size)),
        };
        let launch = self.labels.len().saturating_sub(1);
        if let Some(other) = self.position(&shape.name).map(|index| &self.list[index]) {
            let name = &shape.name;
            let message = format!("there is already a buffer `{name}`", name = name.shown());
            if other.launch == launch {
                return Err(Failure::usage(message).help("Give each buffer its own name."));
            }
            return Err(Failure::usage(format!("{message}, created for {}", self.labels[other.launch])).help(format!(
                "Omit the argument, or write {name}=&{name}, to keep using it. For another buffer, add one with its own \
                 name above the launches, such as {name}2:{}[{}], and write {name}=&{name}2.",
                shape.element.name(),
                shape.count(), name = name.shown())));
        }
        // Later uses of the name find this buffer; it hides a shared argument of the same name.
        self.list.push(BufferPlan { shape, contents, image, launch });
        Ok(Planned::Buffer(self.list.len() - 1))
    }

    /// The arguments of a launch, in the order of its parameters: its own, or else the ones found
    /// here.
    ///
    /// # Errors
    /// Types that are unknown or do not fit, or contents that do not fit.
    pub(crate) fn plan(
        &mut self,
        parameters: &[Known],
        places: &[Option<&ArgSpec>],
    ) -> Result<Vec<Planned>, Failure> {
        let mut planned: Vec<Planned> = Vec::with_capacity(places.len());
        for (parameter, place) in parameters.iter().zip(places) {
            let one = match place {
                None => self.inherit(parameter),
                Some(argument) => {
                    let one = match &argument.init {
                        Init::Same(name) => self.same(name, parameters, places, &planned, parameter),
                        _ => plan_one(parameter, argument).and_then(|single| self.register(single)),
                    };
                    one.map_err(|failure| failure.within(format_args!("argument `{}`", argument.shown())))
                }
            };
            let one = one?;
            if let (Planned::Buffer(index), Some(ArgSpec { init: Init::Same(_), name, .. })) = (&one, place) {
                let name = name.as_ref().unwrap_or(&parameter.name);
                self.aliases.push((name.clone(), *index));
            }
            planned.push(one);
        }
        Ok(planned)
    }

    /// An argument that belongs to no parameter. Launches that have the same argument share its
    /// buffer.
    ///
    /// # Errors
    /// As [`Buffers::plan`].
    pub(crate) fn plan_alone(&mut self, argument: &ArgSpec) -> Result<Planned, Failure> {
        if let Some((_, planned)) = self.alone.iter().find(|(text, _)| *text == argument.text) {
            return Ok(planned.clone());
        }
        let known = parameters::invent(std::slice::from_ref(argument))?;
        let planned = self.plan(&known, &[Some(argument)])?.remove(0);
        self.alone.push((argument.text.clone(), planned.clone()));
        Ok(planned)
    }

    /// The target of `&name`: a buffer's name, or else the name of an earlier argument that has
    /// another's buffer.
    fn same(
        &mut self,
        name: &str,
        parameters: &[Known],
        places: &[Option<&ArgSpec>],
        planned: &[Planned],
        parameter: &Known,
    ) -> Result<Planned, Failure> {
        let called = |i: &usize| {
            parameters[*i].name == name || places[*i].is_some_and(|given| given.name.as_deref() == Some(name))
        };
        let alias = (0..planned.len()).find(called).map(|i| &planned[i]);
        match alias {
            Some(Planned::Buffer(index)) if self.position(name).is_none() => Ok(Planned::Buffer(*index)),
            _ => self.named(name, parameter, self.shared.len()),
        }
    }

    /// Checks that every shared argument is used.
    pub(crate) fn check_used<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> Result<(), Failure> {
        let Some(index) = self.used.iter().position(|used| !used) else { return Ok(()) };
        let argument = &self.shared[index];
        let near = argument.name.as_deref().and_then(|name| closest(name, names));
        let hint = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        Err(Failure::usage(format!("argument `{}`: no launch uses it{hint}", argument.shown())).help(
            "An argument above the launches is for parameters of its name, and for parameters that are given &NAME.",
        ))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::element::{Element, SourceType};
    use super::super::plan::assign;
    use super::*;

    fn specs(texts: &[&str]) -> Vec<ArgSpec> {
        texts.iter().map(|text| ArgSpec::parse(text, Path::new("")).unwrap()).collect()
    }

    /// Plans a launch with parameters of these names: all are float pointers, except that `n` is a
    /// number.
    fn launch(buffers: &mut Buffers<'_>, names: &[&str], texts: &[&str]) -> Result<Vec<Planned>, String> {
        let known = |name: &&str| {
            let (kind, size, ty) = match *name {
                "n" => (ParameterKind::Value, 4, "uint"),
                _ => (ParameterKind::Buffer, 8, "float*"),
            };
            Known {
                name: (*name).to_owned(),
                named: true,
                source: Some(SourceType::parse(ty)),
                type_name: Some(ty.to_owned()),
                kind,
                size,
                read_only: false,
                described: true,
                triton_scratch: false,
            }
        };
        let parameters: Vec<Known> = names.iter().map(known).collect();
        let arguments = specs(texts);
        buffers.begin(&format!("launch {}", buffers.labels.len() + 1));
        let places = assign(&parameters, &arguments).map_err(|failure| failure.message)?;
        let missing = parameters.iter().zip(&places).find(|(p, place)| place.is_none() && !buffers.offers(p));
        if let Some((parameter, _)) = missing {
            return Err(format!("missing: {}", parameter.name));
        }
        buffers.plan(&parameters, &places).map_err(|failure| failure.message)
    }

    #[test]
    fn launches_share_buffers_by_name() {
        use Planned::{Buffer, Value};
        let shared = specs(&["n=7", "x[4]=ones", "spare[4]", "other=&spare"]);
        let mut buffers = Buffers::new(&shared);
        let seven = || Value(vec![7, 0, 0, 0]);
        // From above the launches, created when needed, with the type that the kernel declares.
        assert_eq!(
            launch(&mut buffers, &["x", "y", "n"], &["y[4]"]),
            Ok(vec![Buffer(0), Buffer(1), seven()])
        );
        assert_eq!(buffers.list[0].shape.name, "x");
        assert!(buffers.check_used(["x"]).is_err());
        // From the previous launch, and back again: a name belongs to the buffer, not to the
        // parameter.
        assert_eq!(
            launch(&mut buffers, &["x", "y", "n"], &["x=&y", "y=&x", "n=8"]),
            Ok(vec![Buffer(1), Buffer(0), Value(vec![8, 0, 0, 0])])
        );
        // Under another name; a parameter that uses another's buffer lends its name to later
        // parameters.
        assert_eq!(launch(&mut buffers, &["a", "b"], &["a=&spare", "b=&a"]), Ok(vec![Buffer(2), Buffer(2)]));
        assert_eq!((buffers.list[2].shape.name.as_str(), buffers.list[2].launch), ("spare", 2));
        assert_eq!(buffers.list[2].shape.element, Element::F32);
        assert!(buffers.check_used(["x"]).unwrap_err().message.contains("`other=&spare`"));
        assert_eq!(launch(&mut buffers, &["other"], &[]), Ok(vec![Buffer(2)]));
        assert_eq!(buffers.check_used(["x"]), Ok(()));
        // Buffers that do not exist, or exist already.
        let message = launch(&mut buffers, &["y"], &["y[8]=zeros"]).unwrap_err();
        assert_eq!(message, "argument `y[8]=zeros`: there is already a buffer `y`, created for launch 1");
        assert_eq!(launch(&mut buffers, &["z"], &[]).unwrap_err(), "missing: z");
        assert!(launch(&mut buffers, &["z"], &["z=&zz"]).unwrap_err().contains("no buffer `zz`"));
        assert!(launch(&mut buffers, &["z"], &["z=&n"]).is_err(), "a number is no buffer");
        assert_eq!(buffers.list.len(), 3);
    }

    #[test]
    fn shared_arguments_do_not_go_round_in_circles() {
        let shared = specs(&["a=&b", "b=&a", "c=&c"]);
        for name in ["a", "b", "c"] {
            let mut buffers = Buffers::new(&shared);
            assert!(launch(&mut buffers, &[name], &[]).unwrap_err().contains("there is no buffer"));
        }
    }
}
