/** Both output streams under their headings. */
export function outputText({ stdout, stderr }: { readonly stdout: string; readonly stderr: string }): string {
  return `--- stdout ---\n${closeLine(stdout)}--- stderr ---\n${closeLine(stderr)}`;
}

function closeLine(text: string): string {
  return text === "" || text.endsWith("\n") ? text : `${text}\n`;
}

/** `name: value` lines; what is null or false need not be read. */
export function factLines(facts: Readonly<Record<string, unknown>>): string {
  return Object.entries(facts)
    .filter(([, value]) => value !== null && value !== false)
    .map(([name, value]) => `${name}: ${String(value)}`)
    .join("\n");
}
