const SECRET_NAME = /pass(word|phrase|wd)?|secret|token|api_?key|private_?key|access_?key|authorization|cookie|credential/i;

const NAMES = "pass(?:word|phrase|wd)?|secret|token|api[_-]?key|private[_-]?key|access[_-]?key|authorization|cookie|credential";
const VALUE = String.raw`("[^"]*(?:"|$)|'[^']*(?:'|$)|[^\s"'&;|,}]+)`;
// Whoever sends a text chooses it: what must still be followed by something has an end, or a text of many names takes its length for each of them.
/** `NAME=value`, `"name": "value"`, `Name: Scheme value`. */
const ASSIGNED = new RegExp(String.raw`((?:${NAMES})[\w-]{0,40}["']?\s*[=:]\s*(?:(?:bearer|basic|token)\s+)?)${VALUE}`, "gi");
/** `--name value`. */
const OPTION = new RegExp(String.raw`(-[\w-]{0,40}(?:${NAMES})[\w-]{0,40}\s+)${VALUE}`, "gi");
/** Secrets known by shape: tokens of Belljar, GitHub, GitLab, Slack, AWS, npm, PyPI and OpenAI, JSON web tokens, private keys in PEM. */
const SHAPED = [
  /\bbelljar_[a-z0-9]{10}_[\w-]{8,}/g,
  /\be2b_[0-9a-f]{30,}/g,
  /\be2b[atv]_[a-z0-9]+_[\w-]{8,}/g,
  /\b(?:gh[pousr]_|github_pat_|glpat-|xox[abposr]-|npm_|pypi-|sk-)[\w-]{8,}/g,
  /\b(?:AKIA|ASIA)[A-Z0-9]{12,}/g,
  // Its header alone too.
  /\beyJ[\w-]{8,}(?:\.[\w-]+(?:\.[\w-]*)?)?/g,
  /\b(bearer|basic)\s+[\w.~+/=-]{8,}/gi,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[^]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g,
];
/** Replaces a secret. */
export const REDACTED = "[redacted]";

/** Returns true if the value of a field of this name must not be logged. */
export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name);
}

/** Redacts the secrets in a text that are recognisable by their names, their shapes, or their position in a URL. */
export function redactText(text: string): string {
  const named = text
    .replaceAll(/:\/\/[^\s/@]*@/g, `://${REDACTED}@`)
    .replaceAll(ASSIGNED, `$1${REDACTED}`)
    .replaceAll(OPTION, `$1${REDACTED}`);
  return SHAPED.reduce((clean, shape) => clean.replaceAll(shape, REDACTED), named);
}
