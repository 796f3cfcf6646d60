const SCHEMES = new Set(["https:", "http:", "ssh:", "git:", "file:"]);
const SCP = /^(?:[A-Za-z0-9._-]+@)?[A-Za-z0-9[][A-Za-z0-9._[\]-]*:(?!\/\/).+$/;

/** Undefined for an address that git may be given: no option, no transport that runs a program, no password in it. */
export function findAddressProblem(url: string): string | undefined {
  // oxlint-disable-next-line no-control-regex
  if (/[\u0000-\u001f\u007f]/.test(url)) return "must not hold control characters";
  if (url.startsWith("-")) return "must not begin with a dash";
  if (/^[A-Za-z0-9+.-]*::/.test(url)) return "names a transport that runs a program; use https, ssh, git or file";
  if (!/^[A-Za-z][A-Za-z0-9+.-]*:\/\//.test(url)) return SCP.test(url) || !url.includes(":") ? undefined : "is no address that git knows";
  if (!URL.canParse(url)) return "is no address";
  const { protocol, username, password, hostname } = new URL(url);
  if (!SCHEMES.has(protocol)) return "must be https, http, ssh, git or file";
  if (password !== "" || (username !== "" && protocol !== "ssh:")) return "must hold no user or password; give them as credential";
  return hostname.startsWith("-") || username.startsWith("-") ? "has a host that begins with a dash" : undefined;
}
