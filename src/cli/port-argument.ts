import { usage } from "./usage.ts";

/** Parses a port of a sandbox, such as `8000`. Throws `USAGE`. */
export function parsePort(text: string, help: string): number {
  const port = toPort(text);
  if (port === undefined || port === 0) throw usage(`"${text}" is not a port from 1 to 65535`, help);
  return port;
}

/** Parses `8000:8080`: a port of a sandbox, and a port of this machine. Without the second, both are the same. Throws `USAGE`. */
export function parseForward(text: string, help: string): { readonly port: number; readonly local: number } {
  const [inside = "", outside] = text.split(":", 2);
  const port = parsePort(inside, help);
  const local = outside === undefined ? port : toPort(outside);
  if (local === undefined || text.split(":").length > 2) throw usage(`"${text}" is not PORT or PORT:LOCAL`, help);
  return { port, local };
}

function toPort(text: string): number | undefined {
  const port = Number(text);
  return /^\d{1,5}$/.test(text) && port <= 65_535 ? port : undefined;
}
