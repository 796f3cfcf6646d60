interface Shown {
  readonly content?: unknown;
  readonly structuredContent?: unknown;
  readonly isError?: unknown;
}

/** The text that a client was sent. Throws for a structure beside it: some hosts would show a model that alone. */
export function shownText(result: object): string {
  const { content, structuredContent } = result as Shown;
  if (structuredContent !== undefined) throw new Error(`There is a structure beside the text: ${JSON.stringify(structuredContent)}`);
  return textOf(content);
}

/** The data that a client was sent. Throws unless its text is the same data, and nothing more. */
export function shownData(result: object): Readonly<Record<string, unknown>> {
  const { content, structuredContent } = result as Shown;
  const text = textOf(content);
  if (text !== JSON.stringify(structuredContent)) throw new Error(`The text is not the structure: ${text}`);
  return structuredContent as Readonly<Record<string, unknown>>;
}

function textOf(content: unknown): string {
  const blocks = content as readonly { readonly type: string; readonly text?: string }[];
  return blocks.map(({ type, text = `[${type}]` }) => text).join("\n");
}
