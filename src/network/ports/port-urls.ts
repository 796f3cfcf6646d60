import type { PortLink } from "./port-link.ts";

/** Query parameter with a link's token, for the first visit. */
export const TOKEN_PARAMETER = "belljar_token";

/** The same link in both styles. */
export interface PortUrls {
  /** Host style: each port has its own origin. Browsers and curl resolve `*.localhost` themselves. */
  readonly url: string;
  /** Path style, for clients that do not resolve such names. Its pages have no origin. */
  readonly pathUrl: string;
}

/** Returns the URLs of a link on the server at `origin`. They hold the token, so whoever has a URL can use the link. */
export function portUrls(origin: URL, { sandbox, port, token }: PortLink): PortUrls {
  const query = token === undefined ? "" : `?${TOKEN_PARAMETER}=${token}`;
  const authority = origin.port === "" ? "" : `:${origin.port}`;
  return {
    url: `${origin.protocol}//${port}-${sandbox}.localhost${authority}/${query}`,
    pathUrl: `${origin.protocol}//${origin.host}/ports/${sandbox}/${port}/${query}`,
  };
}

/** Makes sure that a path does not name another server: `//host` would, and browsers treat a backslash as a slash. */
export function onThisHost(path: string): string {
  return /^\/[/\\]/.test(path) ? `/.${path}` : path;
}
