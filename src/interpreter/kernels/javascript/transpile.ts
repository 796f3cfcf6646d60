import { transform } from "sucrase";

/** TypeScript as JavaScript, line by line, so that stack traces name the author's lines. */
export function transpile(path: string, source: string): string {
  try {
    return transform(source, {
      transforms: path.endsWith(".tsx") ? ["typescript", "jsx"] : ["typescript"],
      disableESTransforms: true,
      production: true,
      filePath: path,
    }).code;
  } catch (error) {
    // The stack of the transpiler means nothing to the program's author.
    if (error instanceof Error) error.stack = `SyntaxError: ${error.message}`;
    throw error;
  }
}
