/**
 * Headers that concern one connection, so that a relay must not forward them: RFC 9110, sections 7.6.1 and 11.7 (proxy authentication),
 * and RFC 7540, section 3.2.1 (`HTTP2-Settings`). `Trailer` is one of them, because these relays forward no trailers.
 */
const HOP_BY_HOP = new Set([
  "connection",
  "http2-settings",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authentication-info",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);
/** Headers that `Connection` cannot remove, because they tell the target and the end of a message. */
const NEEDED = new Set(["host", "content-length"]);

/** Returns a test whether a header is hop-by-hop. `connection` is the value of the Connection header. Names may have any case. */
export function hopByHop(connection: string | undefined): (name: string) => boolean {
  const named = new Set((connection ?? "").split(",").map((name) => name.trim().toLowerCase()));
  return (name) => {
    const key = name.toLowerCase();
    // Many programs treat an underscore as a dash.
    return HOP_BY_HOP.has(key.replaceAll("_", "-")) || (named.has(key) && !NEEDED.has(key));
  };
}
