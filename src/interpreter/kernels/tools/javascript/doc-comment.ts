/** The text of the JSDoc comment right before an export, up to its first tag; nothing where there is none. */
export function docCommentOf(code: string, name: string): string {
  const declared = name === "default" ? "export default" : `export const ${name}`;
  const at = `\n${code}`.indexOf(`\n${declared}`);
  if (at === -1 || /^[\w$]/.test(code.slice(at + declared.length))) return "";
  const before = code.slice(0, at).trimEnd();
  const start = before.lastIndexOf("/**");
  if (!before.endsWith("*/") || start === -1 || before.indexOf("*/", start) !== before.length - 2) return "";
  const lines = before
    .slice(start + 3, -2)
    .split("\n")
    .map((line) => line.trim().replace(/^\*/, "").trim());
  const tag = lines.findIndex((line) => line.startsWith("@"));
  return lines
    .slice(0, tag === -1 ? undefined : tag)
    .join("\n")
    .trim();
}
