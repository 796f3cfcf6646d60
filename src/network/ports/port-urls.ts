import type { PortLink } from "./port-link.ts";

/** The name of the query parameter that carries a link's token on the first visit. */
export const TOKEN_PARAMETER = "belljar_token";

/** The same link in both styles. */
export interface PortUrls {
  /** By host name: a browser's page has an origin of its own. Browsers and curl know `*.localhost` by themselves. */
  readonly url: string;
  /** By path, where such names do not resolve: a browser's page has no origin. */
  readonly pathUrl: string;
}

/** Where a link leads on the server at `origin`. The URLs carry the token: who has them has the link. */
export function portUrls(origin: URL, { sandbox, port, token }: PortLink): PortUrls {
  const query = token === undefined ? "" : `?${TOKEN_PARAMETER}=${token}`;
  const authority = origin.port === "" ? "" : `:${origin.port}`;
  return {
    url: `${origin.protocol}//${port}-${sandbox}.localhost${authority}/${query}`,
    pathUrl: `${origin.protocol}//${origin.host}/ports/${sandbox}/${port}/${query}`,
  };
}

/** A path that starts with two slashes would name another server; for browsers a backslash is one. */
export function onThisHost(path: string): string {
  return /^\/[/\\]/.test(path) ? `/.${path}` : path;
}
