//! Enums whose variants have a name in records, on the command line, and in output.

macro_rules! named {
    ($(#[$of_enum:meta])* enum $enum:ident {
        $($(#[$of_variant:meta])* $variant:ident = $name:literal,)*
    }) => {
        $(#[$of_enum])*
        pub enum $enum { $($(#[$of_variant])* $variant,)* }

        impl $enum {
            /// All variants, in declaration order.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$variant),*];

            /// The name of the variant.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

pub(crate) use named;
