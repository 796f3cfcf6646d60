import { expect, it } from "vitest";
import { ETC_ROWS, VAR_ROWS } from "./etc-table.ts";

const pathsOf = (rows: readonly { readonly path: string }[]) => rows.map(({ path }) => path).toSorted();

/** The boundary of what a sandbox reads of the host: a new row is to be seen here, and argued. */
it("shows of the host's /etc and /var these rows alone", () => {
  expect(pathsOf(ETC_ROWS)).toEqual([
    "ImageMagick-6",
    "X11/app-defaults",
    "X11/rgb.txt",
    "adduser.conf",
    "alternatives",
    "apt/keyrings",
    "apt/trusted.gpg.d",
    "ca-certificates.conf",
    "crypto-policies",
    "debian_version",
    "deluser.conf",
    "dpkg/origins",
    "ethertypes",
    "fonts",
    "gai.conf",
    "gdb",
    "ghostscript",
    "groff",
    "inputrc",
    "java-*",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "locale.alias",
    "localtime",
    "magic",
    "magic.mime",
    "manpath.config",
    "maven/logging",
    "maven/m2.conf",
    "mime.types",
    "os-release",
    "perl",
    "pki",
    "protocols",
    "python3",
    "python3.*",
    "redhat-release",
    "rpc",
    "services",
    "sgml",
    "ssl/certs",
    "ssl/openssl.cnf",
    "terminfo",
    "timezone",
    "xattr.conf",
    "xml",
  ]);
  expect(pathsOf(VAR_ROWS)).toEqual([
    "cache/fontconfig/*",
    "lib/dpkg/alternatives",
    "lib/dpkg/arch",
    "lib/dpkg/diversions",
    "lib/dpkg/status",
  ]);
});

it("says why each row is needed", () => {
  for (const { path, reason } of [...ETC_ROWS, ...VAR_ROWS]) expect(reason, path).not.toBe("");
});
