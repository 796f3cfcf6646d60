const SECRET_NAME = /pass(word|phrase|wd)?|secret|token|api_?key|private_?key|access_?key|authorization|cookie|credential/i;

const NAMES = "pass(?:word|phrase|wd)?|secret|token|api[_-]?key|private[_-]?key|access[_-]?key|authorization|cookie|credential";
const VALUE = String.raw`("[^"]*(?:"|$)|'[^']*(?:'|$)|[^\s"'&;|,}]+)`;
/** `NAME=value`, `"name": "value"`, `Name: Scheme value`. */
const ASSIGNED = new RegExp(String.raw`((?:${NAMES})[\w-]*["']?\s*[=:]\s*(?:(?:bearer|basic|token)\s+)?)${VALUE}`, "gi");
/** `--name value`. */
const OPTION = new RegExp(String.raw`(-[\w-]{0,40}(?:${NAMES})[\w-]{0,40}\s+)${VALUE}`, "gi");
/** What is known by its shape: Belljar's own tokens, those of GitHub, GitLab, Slack, AWS, npm, PyPI and OpenAI, JSON web tokens, keys in PEM. */
const SHAPED = [
  /\bbelljar_[a-z0-9]{10}_[\w-]{8,}/g,
  /\b(?:gh[pousr]_|github_pat_|glpat-|xox[abposr]-|npm_|pypi-|sk-)[\w-]{8,}/g,
  /\b(?:AKIA|ASIA)[A-Z0-9]{12,}/g,
  /\beyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?/g,
  /\b(bearer|basic)\s+[\w.~+/=-]{8,}/gi,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[^]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g,
];
/** What stands in a secret's place. */
export const REDACTED = "[redacted]";

/** Whether the value of a field of this name is none of a log's business. */
export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name);
}

/** A text without the secrets that can be told from other words: by their names, their shapes, or their place in an address. */
export function redactText(text: string): string {
  const named = text
    .replaceAll(/:\/\/[^\s/@]*@/g, `://${REDACTED}@`)
    .replaceAll(ASSIGNED, `$1${REDACTED}`)
    .replaceAll(OPTION, `$1${REDACTED}`);
  return SHAPED.reduce((clean, shape) => clean.replaceAll(shape, REDACTED), named);
}
