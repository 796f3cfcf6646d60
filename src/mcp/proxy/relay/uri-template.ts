/**
 * Whether a template of RFC 6570 can give the URI, whatever its variables are. Only the texts between the variables are compared, so that a
 * template of a stranger costs no more than its length.
 */
export function canGive(template: string, uri: string): boolean {
  const texts = template.split(/\{[^{}]*\}/);
  const [first = "", ...more] = texts;
  const last = more.pop();
  if (last === undefined) return template === uri;
  if (!uri.startsWith(first) || !uri.endsWith(last) || uri.length < first.length + last.length) return false;
  let at = first.length;
  for (const text of more) {
    const found = uri.indexOf(text, at);
    if (found < 0 || found + text.length > uri.length - last.length) return false;
    at = found + text.length;
  }
  return true;
}
