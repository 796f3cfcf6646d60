/** Variables of the C library and of the session, which a process reads once. */
const COMMON = ["LD_.*", "LC_.*", "LANG(?:UAGE)?", "TZ", "MALLOC_.*", "GLIBC_.*", "GCONV_.*", "HOME", "USER", "PATH", "PWD"];

/** What Python and the libraries that may be imported by then have read when they started. */
export const READ_BY_PYTHON = names("PYTHON.*", "IPYTHON.*", "MPL.*", "JUPYTER.*", ".*_NUM_THREADS", "MKL_.*", "OMP_.*", "NPY_.*");
/** The same of Node. `NODE_EXTRA_CA_CERTS` is one of them. */
export const READ_BY_NODE = names("NODE.*", "UV_.*", "NO_COLOR", "FORCE_COLOR", "SSL_CERT_.*", "OPENSSL_.*");

function names(...patterns: readonly string[]): RegExp {
  return new RegExp(`^(?:${[...COMMON, ...patterns].join("|")})$`);
}
