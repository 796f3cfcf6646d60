/**
 * Fields that are about one connection, so that no relay passes them on: RFC 9110, section 7.6.1, and section 11.7 for those of a
 * proxy's own authentication. A relay here passes on no trailers, so `Trailer` would promise what does not come. `HTTP2-Settings` is
 * about the connection by RFC 7540, section 3.2.1.
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
/** A Connection header takes away what it names, but for these: without them nobody knows whose a message is and where it ends. */
const NEEDED = new Set(["host", "content-length"]);

/** Whether a field is about one connection, where `Connection` says `connection`. Names come in any case. */
export function hopByHop(connection: string | undefined): (name: string) => boolean {
  const named = new Set((connection ?? "").split(",").map((name) => name.trim().toLowerCase()));
  return (name) => {
    const key = name.toLowerCase();
    // An underscore reads as a dash for many programs, so it hides nothing.
    return HOP_BY_HOP.has(key.replaceAll("_", "-")) || (named.has(key) && !NEEDED.has(key));
  };
}
