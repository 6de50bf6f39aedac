//! Words of clauses of fetches and of the global data share.

use wavemill_isa::cayman::{FieldId as F, Format};

use super::Printer;
use crate::cayman::syntax::{CHANNELS, COORD_TYPES, COORDS, DATA_FORMATS, DST_SELS, NUMBERS, SRC_SELS};

impl Printer<'_> {
    /// `vfetch r1.x___, r1.x, buf:1 fmt:32 int index:none`.
    pub(super) fn vertex(&mut self) {
        self.text(" ");
        if self.inst.format() == Format::VtxSemantic {
            let number = self.take(F::SemanticId);
            self.write(format_args!("sem{number}"));
        } else {
            self.register(F::DstGpr, Some(F::DstRel));
        }
        self.selections(&DST_SELS);
        self.source_channel();
        let buffer = self.take(F::BufferId);
        self.write(format_args!(", buf:{buffer}"));
        self.number_index(F::BufferIndexMode);
        self.data_format();
        let kind = self.inst.get(F::FetchType) as usize;
        if let Some(kind) = ["vertex", "instance", "none"].get(kind) {
            self.take(F::FetchType);
            self.write(format_args!(" index:{kind}"));
        }
    }

    /// `mem_rd_scratch r1.xyzw, r2.x, fmt:32_32_32_32 int elem:3`.
    pub(super) fn memory_read(&mut self) {
        self.text(" ");
        self.register(F::DstGpr, Some(F::DstRel));
        self.selections(&DST_SELS);
        self.source_channel();
        self.text(",");
        self.data_format();
    }

    /// `, r1.x`.
    fn source_channel(&mut self) {
        self.text(", ");
        self.register(F::SrcGpr, Some(F::SrcRel));
        let channel = CHANNELS[self.take(F::SrcSelX) as usize & 3];
        self.write(format_args!(".{channel}"));
    }

    /// `fmt:32 int signed`.
    fn data_format(&mut self) {
        let name = DATA_FORMATS.get(self.inst.get(F::DataFormat) as usize);
        if let Some(name) = name.filter(|name| !name.is_empty()) {
            self.take(F::DataFormat);
            self.write(format_args!(" fmt:{name}"));
        }
        if let Some(name) = NUMBERS.get(self.inst.get(F::NumFormatAll) as usize) {
            self.take(F::NumFormatAll);
            self.write(format_args!(" {name}"));
        }
        if self.take(F::FormatCompAll) != 0 {
            self.text(" signed");
        }
    }

    /// `sample r2.xyzw, r3.xyzz, res:0 smp:0 ct:nnnn`.
    pub(super) fn texture(&mut self) {
        self.text(" ");
        self.register(F::DstGpr, Some(F::DstRel));
        self.selections(&DST_SELS);
        self.text(", ");
        self.register(F::SrcGpr, Some(F::SrcRel));
        self.selections(&SRC_SELS);
        let resource = self.take(F::ResourceId);
        self.write(format_args!(", res:{resource}"));
        self.number_index(F::ResourceIndexMode);
        let sampler = self.take(F::SamplerId);
        self.write(format_args!(" smp:{sampler}"));
        self.number_index(F::SamplerIndexMode);
        self.text(" ct:");
        for id in COORD_TYPES {
            let letter = COORDS[self.take(id) as usize & 1];
            self.out.push(letter);
        }
    }

    /// `gds_add_ret r1.x___, r2.xy0`.
    pub(super) fn share(&mut self) {
        self.text(" ");
        self.register(F::DstGpr, None);
        self.selections(&DST_SELS);
        self.text(", ");
        self.register(F::SrcGpr, None);
        self.selections(&SRC_SELS[..3]);
    }
}
