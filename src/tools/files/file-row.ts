/** A file may claim any time; those that a date cannot hold become the nearest one that it can. */
export function toIsoTime(mtimeNs: bigint): string {
  const milliseconds = Number(mtimeNs / 1_000_000n);
  return new Date(Math.min(Math.max(milliseconds, -8.64e15), 8.64e15)).toISOString();
}

export function showMode(mode: number): string {
  return (mode & 0o7777).toString(8).padStart(4, "0");
}

/** One entry is one line, whatever its name. */
export function showName(name: string): string {
  // oxlint-disable-next-line no-control-regex
  return /[\u0000-\u001f\u007f"\\]/.test(name) ? JSON.stringify(name) : name;
}
