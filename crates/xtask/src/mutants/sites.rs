//! Finds the expressions of a source file that a mutant can change.

use std::collections::BTreeMap;
use std::ops::Range;

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

/// A change of one expression.
#[derive(Clone, Debug)]
pub(super) struct Site {
    /// Bytes of the expression in its file.
    pub(super) range: Range<usize>,
    /// Line of its start, from 1.
    pub(super) line: usize,
    /// The text of that line, and which of its sites with the same change this is, from 1.
    pub(super) within: (String, usize),
    /// The function that contains it.
    pub(super) function: String,
    /// The expression.
    pub(super) before: String,
    /// The expression in its place.
    pub(super) after: String,
}

/// All sites of a source, in order. Tests, patterns, constants and `const fn` have none.
pub(super) fn find(source: &str) -> syn::Result<Vec<Site>> {
    let file = syn::parse_file(source)?;
    let mut names = Names::default();
    names.visit_file(&file);
    let mut finder = Finder { source, names: names.0, function: Vec::new(), sites: Vec::new() };
    finder.visit_file(&file);
    Ok(finder.sites)
}

/// The variants that expressions of the file name, by the name of their enum.
#[derive(Default)]
struct Names(BTreeMap<String, Vec<String>>);

/// `F::Trunc` as `F` and `Trunc`.
fn variant(path: &syn::ExprPath) -> Option<(String, String)> {
    let segments: Vec<_> = path.path.segments.iter().map(|s| s.ident.to_string()).collect();
    match &segments[..] {
        [name, variant]
            if path.qself.is_none()
                && variant.chars().any(char::is_lowercase)
                && [name, variant].iter().all(|s| s.starts_with(char::is_uppercase)) =>
        {
            Some((name.clone(), variant.clone()))
        }
        _ => None,
    }
}

impl<'ast> Visit<'ast> for Names {
    fn visit_pat(&mut self, _: &'ast syn::Pat) {}

    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        // The function may be a variant with fields.
        call.args.iter().for_each(|argument| self.visit_expr(argument));
    }

    fn visit_expr_path(&mut self, path: &'ast syn::ExprPath) {
        if let Some((name, variant)) = variant(path) {
            let variants = self.0.entry(name).or_default();
            if !variants.contains(&variant) {
                variants.push(variant);
            }
        }
    }
}

struct Finder<'a> {
    source: &'a str,
    names: BTreeMap<String, Vec<String>>,
    function: Vec<String>,
    sites: Vec<Site>,
}

impl Finder<'_> {
    fn text(&self, span: Span) -> &str {
        &self.source[span.byte_range()]
    }

    fn site(&mut self, span: Span, after: String) {
        let before = self.text(span).to_string();
        let function = self.function.last().cloned().unwrap_or_default();
        let line = span.start().line;
        let text = self.source.lines().nth(line - 1).unwrap_or_default().trim().to_owned();
        let same = |site: &&Site| site.line == line && site.before == before && site.after == after;
        let number = self.sites.iter().filter(same).count() + 1;
        self.sites.push(Site {
            range: span.byte_range(),
            line,
            within: (text, number),
            function,
            before,
            after,
        });
    }
}

/// Whether an item is for tests only.
fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("test")
            || attribute.path().is_ident("cfg")
                && attribute.meta.require_list().is_ok_and(|list| list.tokens.to_string().contains("test"))
    })
}

/// The operator that replaces one.
fn other_operator(op: &syn::BinOp) -> Option<&'static str> {
    use syn::BinOp as B;
    Some(match op {
        B::Add(_) => "-",
        B::Sub(_) | B::Mul(_) => "+",
        B::And(_) => "||",
        B::Or(_) => "&&",
        B::BitXor(_) | B::BitOr(_) => "&",
        B::BitAnd(_) => "|",
        B::Shl(_) => ">>",
        B::Shr(_) => "<<",
        B::Eq(_) => "!=",
        B::Ne(_) => "==",
        B::Lt(_) => "<=",
        B::Le(_) => "<",
        B::Gt(_) => ">=",
        B::Ge(_) => ">",
        B::AddAssign(_) => "-=",
        B::SubAssign(_) => "+=",
        B::BitOrAssign(_) => "&=",
        B::BitAndAssign(_) => "|=",
        _ => return None,
    })
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_test(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if item.sig.constness.is_none() && !is_test(&item.attrs) {
            self.function.push(item.sig.ident.to_string());
            visit::visit_block(self, &item.block);
            self.function.pop();
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if item.sig.constness.is_none() && !is_test(&item.attrs) {
            self.function.push(item.sig.ident.to_string());
            visit::visit_block(self, &item.block);
            self.function.pop();
        }
    }

    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}
    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}
    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_trait_item_const(&mut self, _: &'ast syn::TraitItemConst) {}
    fn visit_item_enum(&mut self, _: &'ast syn::ItemEnum) {}
    fn visit_pat(&mut self, _: &'ast syn::Pat) {}
    fn visit_type(&mut self, _: &'ast syn::Type) {}
    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}
    fn visit_generic_argument(&mut self, _: &'ast syn::GenericArgument) {}
    fn visit_expr_const(&mut self, _: &'ast syn::ExprConst) {}

    fn visit_expr_repeat(&mut self, repeat: &'ast syn::ExprRepeat) {
        self.visit_expr(&repeat.expr);
    }

    fn visit_expr_binary(&mut self, binary: &'ast syn::ExprBinary) {
        let has_let = matches!(*binary.left, syn::Expr::Let(_)) || matches!(*binary.right, syn::Expr::Let(_));
        if let Some(other) = other_operator(&binary.op).filter(|_| !has_let) {
            let [left, right] = [&binary.left, &binary.right].map(|side| self.text(side.span()).to_string());
            self.site(binary.span(), format!("{left} {other} {right}"));
        }
        visit::visit_expr_binary(self, binary);
    }

    fn visit_expr_unary(&mut self, unary: &'ast syn::ExprUnary) {
        if !matches!(unary.op, syn::UnOp::Deref(_)) && !matches!(*unary.expr, syn::Expr::Lit(_)) {
            let after = self.text(unary.expr.span()).to_string();
            self.site(unary.span(), after);
        }
        visit::visit_expr_unary(self, unary);
    }

    fn visit_expr_lit(&mut self, literal: &'ast syn::ExprLit) {
        let text = self.text(literal.span());
        let after = match &literal.lit {
            syn::Lit::Int(_) => format!("{text} + 1"),
            syn::Lit::Float(_) => format!("{text} * 1.5"),
            syn::Lit::Bool(value) => (!value.value).to_string(),
            _ => return,
        };
        self.site(literal.span(), format!("({after})"));
    }

    fn visit_expr_if(&mut self, branch: &'ast syn::ExprIf) {
        if !matches!(*branch.cond, syn::Expr::Let(_) | syn::Expr::Binary(_) | syn::Expr::Unary(_)) {
            let after = format!("!({})", self.text(branch.cond.span()));
            self.site(branch.cond.span(), after);
        }
        visit::visit_expr_if(self, branch);
    }

    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        call.args.iter().for_each(|argument| self.visit_expr(argument));
    }

    fn visit_expr_path(&mut self, path: &'ast syn::ExprPath) {
        let Some((name, this)) = variant(path) else { return };
        let Some(variants) = self.names.get(&name) else { return };
        let at = variants.iter().position(|other| *other == this).unwrap_or(0);
        let other = &variants[(at + 1) % variants.len()];
        if *other != this {
            self.site(path.span(), format!("{name}::{other}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_changes_of_a_line_are_told_apart() {
        let sites = find("fn f() -> [u32; 2] { [1, 1] }").expect("a source");
        let within: Vec<_> = sites.into_iter().map(|site| site.within).collect();
        let line = "fn f() -> [u32; 2] { [1, 1] }".to_owned();
        assert_eq!(within, [(line.clone(), 1), (line, 2)]);
    }

    #[test]
    fn each_kind_of_expression_has_its_change() {
        let source = "
            const N: u32 = 1 + 2;
            fn f(a: u32, b: bool) -> u32 {
                let [_x, (3..)] = [1; 7] else { return !a };
                if b && a < 4 { g(Kind::One) } else { a << 1 }
            }
            fn g(k: Kind) -> u32 { match k { Kind::Two => 0, _ => h(Kind::Two, true) } }
            #[cfg(test)]
            mod tests { fn t() { 1 + 1 } }
        ";
        let sites = find(source).expect("a source");
        let found: Vec<_> =
            sites.iter().map(|s| (s.function.as_str(), s.before.as_str(), s.after.as_str())).collect();
        assert_eq!(
            found,
            [
                ("f", "1", "(1 + 1)"),
                ("f", "!a", "a"),
                ("f", "b && a < 4", "b || a < 4"),
                ("f", "a < 4", "a <= 4"),
                ("f", "4", "(4 + 1)"),
                ("f", "Kind::One", "Kind::Two"),
                ("f", "a << 1", "a >> 1"),
                ("f", "1", "(1 + 1)"),
                ("g", "0", "(0 + 1)"),
                ("g", "Kind::Two", "Kind::One"),
                ("g", "true", "(false)"),
            ]
        );
    }
}
