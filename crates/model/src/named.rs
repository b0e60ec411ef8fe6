//! Enums whose variants have a word in records, on the command line and in what is printed.

macro_rules! named {
    ($(#[$of_enum:meta])* enum $enum:ident {
        $($(#[$of_variant:meta])* $variant:ident = $name:literal,)*
    }) => {
        $(#[$of_enum])*
        pub enum $enum { $($(#[$of_variant])* $variant,)* }

        impl $enum {
            /// All of them, in the order of their declaration.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$variant),*];

            /// Its word.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

pub(crate) use named;
