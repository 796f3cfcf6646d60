import { parse } from "acorn";

export { transpile } from "../../javascript/transpile.ts";

/** A bundle of its own: only TypeScript, and code that Node cannot parse, load it. Node does not tell where the mistake is. */
export function findSyntaxError(source: string, sourceType: "module" | "script"): SyntaxError & { readonly line?: number } {
  try {
    parse(source, { ecmaVersion: "latest", sourceType, allowHashBang: true, allowReturnOutsideFunction: sourceType === "script" });
    return new SyntaxError("The code is not JavaScript");
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    const { line } = (error as SyntaxError & { readonly loc: { readonly line: number } }).loc;
    return Object.assign(error, { line });
  }
}
