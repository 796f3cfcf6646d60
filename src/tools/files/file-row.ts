/** A file may claim any time; those that a date cannot hold become the nearest one that it can. */
export function toIsoTime(mtimeNs: bigint): string {
  const milliseconds = Number(mtimeNs / 1_000_000n);
  return new Date(Math.min(Math.max(milliseconds, -8.64e15), 8.64e15)).toISOString();
}

export function showMode(mode: number): string {
  return (mode & 0o7777).toString(8).padStart(4, "0");
}

/** What ends a line, controls a terminal, or turns the direction of the text around it. */
const CONTROLS = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;

/** One entry is one line, whatever its name. */
export function showName(name: string): string {
  if (name.search(/["\\]/) < 0 && name.search(CONTROLS) < 0) return name;
  return JSON.stringify(name).replaceAll(CONTROLS, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
