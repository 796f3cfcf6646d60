import { usage } from "./usage.ts";

/** The number of a version of a tool. `help`: the command that takes it. */
export function parseVersion(text: string, help: string): number {
  if (/^[1-9][0-9]{0,8}$/.test(text)) return Number(text);
  throw usage(`"${text}" is no number of a version`, help);
}
