const PLAIN = /^[\w./+,@=-]+$/;

/** A path's bytes as git reads them in a patch. What is not plain ASCII stands in quotes, each such byte in octal. */
export function quotePath(side: "a" | "b", key: string): string {
  const path = `${side}/${key}`;
  return PLAIN.test(path) ? path : `"${path.replaceAll(/[^ !#-[\]-~]/g, toOctal)}"`;
}

function toOctal(byte: string): string {
  return `\\${byte.charCodeAt(0).toString(8).padStart(3, "0")}`;
}
