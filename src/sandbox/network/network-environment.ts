const HTTP_PROXY = "http://127.0.0.1:3128";
const OWN = "localhost,127.0.0.1,::1";

/**
 * What makes programs inside use the way out: curl, git, npm, pip, cargo, go, apt and wget read these, Node does with its switch.
 * `all_proxy` is the HTTP proxy too: httpx does not start with a SOCKS one unless a package of its own is there.
 * Programs that read none of it get out by the names that they resolve.
 * `hostname` is the sandbox's own, whose servers no proxy reaches.
 */
export function proxyEnvironment(hostname: string): Readonly<Record<string, string>> {
  const NO_PROXY = `${OWN},${hostname}`;
  return {
    http_proxy: HTTP_PROXY,
    https_proxy: HTTP_PROXY,
    all_proxy: HTTP_PROXY,
    no_proxy: NO_PROXY,
    HTTP_PROXY,
    HTTPS_PROXY: HTTP_PROXY,
    ALL_PROXY: HTTP_PROXY,
    NO_PROXY,
    NODE_USE_ENV_PROXY: "1",
  };
}
