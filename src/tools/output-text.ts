interface Streams {
  readonly stdout: string;
  readonly stderr: string;
}

type Facts = Readonly<Record<string, unknown>>;

/** Both output streams under their headings. */
export function outputText({ stdout, stderr }: Streams): string {
  return `--- stdout ---\n${closeLine(stdout)}--- stderr ---\n${closeLine(stderr)}`;
}

/** What a command printed, and its facts in the last line. */
export function commandText(streams: Streams, facts: Facts, ...notes: readonly string[]): string {
  return `${printedText(streams)}${factLine(facts, ...notes)}`;
}

/** What a command printed. Only stderr has a heading. */
export function printedText({ stdout, stderr }: Streams): string {
  return `${closeLine(stdout)}${stderr === "" ? "" : `--- stderr ---\n${closeLine(stderr)}`}`;
}

/** `[name: value, ...]`; what is null or false need not be read. */
export function factLine(facts: Facts, ...notes: readonly string[]): string {
  const shown = Object.entries(facts).filter(([, value]) => value !== null && value !== false);
  return `[${[...shown.map(([name, value]) => `${name}: ${String(value)}`), ...notes].join(", ")}]`;
}

export function closeLine(text: string): string {
  return text === "" || text.endsWith("\n") ? text : `${text}\n`;
}
