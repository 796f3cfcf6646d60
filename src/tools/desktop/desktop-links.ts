/** The page of noVNC that shows a desktop, in both styles of links. */
export interface DesktopLinks {
  readonly url: string;
  readonly pathUrl: string;
}

export interface Watching {
  /** What the port asks for: it is in the query of the page's WebSocket. */
  readonly key: string;
  readonly isViewOnly: boolean;
}

const TOKEN = "belljar_token";

/** Of a link to a port of a desktop. */
export function toDesktopLinks({ url, pathUrl }: DesktopLinks, watching: Watching): DesktopLinks {
  return { url: toPage(new URL(url), watching), pathUrl: toPage(new URL(pathUrl), watching) };
}

/** In path style a page has no origin and no storage, which the small page of noVNC does without; its WebSocket has the token in its path. */
function toPage(link: URL, { key, isViewOnly }: Watching): string {
  const isPath = link.pathname !== "/";
  const token = link.searchParams.get(TOKEN);
  const below = isPath ? `${link.pathname.slice(1)}${token === null ? "" : `~${token}/`}` : "";
  link.pathname += isPath ? "vnc_lite.html" : "vnc.html";
  const settings = isPath ? { scale: "true" } : { autoconnect: "true", reconnect: "true", resize: "scale" };
  const query = { ...settings, ...(isViewOnly && { view_only: "true" }), path: `${below}websockify?key=${key}` };
  for (const [name, value] of Object.entries(query)) link.searchParams.set(name, value);
  return link.href;
}
