import { usage } from "./usage.ts";

/** `8000`, as a port of a sandbox. Throws `USAGE`. */
export function parsePort(text: string, help: string): number {
  const port = toPort(text);
  if (port === undefined || port === 0) throw usage(`"${text}" is not a port from 1 to 65535`, help);
  return port;
}

/** `8000:8080`: a port of a sandbox, and the one of this machine that is to lead there; without the second the same. */
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
