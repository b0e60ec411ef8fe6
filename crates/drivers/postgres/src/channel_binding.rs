//! Binds a SCRAM exchange to its TLS connection: `tls-server-end-point` of RFC 5929, a hash of the server's
//! certificate. Must not exchange messages.

use sha2::{Digest, Sha256, Sha384, Sha512};

/// Encoded object identifiers of signatures, each with its hash: that of the signature, but SHA-256 for MD5 and SHA-1.
const SIGNATURES: &[(&[u8], Hash)] = &[
    // RSA with MD5, SHA-1, SHA-256, SHA-384, SHA-512: 1.2.840.113549.1.1.x
    (b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x04", Hash::Sha256),
    (b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x05", Hash::Sha256),
    (b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0b", Hash::Sha256),
    (b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0c", Hash::Sha384),
    (b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0d", Hash::Sha512),
    // ECDSA with SHA-1, SHA-256, SHA-384, SHA-512: 1.2.840.10045.4.x
    (b"\x2a\x86\x48\xce\x3d\x04\x01", Hash::Sha256),
    (b"\x2a\x86\x48\xce\x3d\x04\x03\x02", Hash::Sha256),
    (b"\x2a\x86\x48\xce\x3d\x04\x03\x03", Hash::Sha384),
    (b"\x2a\x86\x48\xce\x3d\x04\x03\x04", Hash::Sha512),
];

/// The first byte of a sequence, and of an object identifier.
const SEQUENCE: u8 = 0x30;
const OBJECT_IDENTIFIER: u8 = 0x06;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hash {
    Sha256,
    Sha384,
    Sha512,
}

/// The hash of a certificate; `None` if its signature has no single hash, as with Ed25519.
pub(super) fn server_end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    Some(match hash(certificate)? {
        Hash::Sha256 => Sha256::digest(certificate).to_vec(),
        Hash::Sha384 => Sha384::digest(certificate).to_vec(),
        Hash::Sha512 => Sha512::digest(certificate).to_vec(),
    })
}

/// The signature's hash: Certificate ::= { tbsCertificate, signatureAlgorithm { algorithm, … }, … }.
fn hash(certificate: &[u8]) -> Option<Hash> {
    let (whole, _) = element(SEQUENCE, certificate)?;
    let (_signed, rest) = element(SEQUENCE, whole)?;
    let (algorithm, _) = element(SEQUENCE, rest)?;
    let (identifier, _) = element(OBJECT_IDENTIFIER, algorithm)?;
    let mut known = SIGNATURES.iter();
    known.find(|(encoded, _)| *encoded == identifier).map(|(_, hash)| *hash)
}

/// The content of a DER element of this kind, and what follows it.
fn element(kind: u8, bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (first, rest) = bytes.split_first()?;
    let (length, rest) = rest.split_first()?;
    let (length, rest) = match usize::from(*length) {
        short @ 0..=0x7f => (short, rest),
        // The length of the length; no certificate has 4 GiB.
        long @ 0x81..=0x84 => {
            let (digits, rest) = rest.split_at_checked(long - 0x80)?;
            let number =
                digits.iter().fold(0_usize, |number, digit| number << 8 | usize::from(*digit));
            (number, rest)
        }
        _ => return None,
    };
    (*first == kind).then(|| rest.split_at_checked(length))?
}

#[cfg(test)]
mod tests {
    use rcgen::{
        CertificateParams, KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_ED25519,
    };

    use super::*;

    #[test]
    fn the_hash_is_that_of_the_signature() {
        for (kind, bytes) in [
            (&PKCS_ECDSA_P256_SHA256, Some(32)),
            (&PKCS_ECDSA_P384_SHA384, Some(48)),
            (&PKCS_ED25519, None),
        ] {
            let key = KeyPair::generate_for(kind).unwrap();
            let names = vec!["localhost".to_owned()];
            let signed = CertificateParams::new(names).unwrap().self_signed(&key);
            let found = server_end_point(signed.unwrap().der());
            assert_eq!(found.map(|found| found.len()), bytes);
        }
        assert_eq!(server_end_point(b"\x30\x85"), None);
        assert_eq!(server_end_point(b""), None);
    }
}
