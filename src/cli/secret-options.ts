import type { SecretUse, SecretUses } from "../network/policy.ts";
import { usage } from "./usage.ts";

const OPTION = /^([^=@]+)=([^=@]+)@(.+)$/;

/** `VARIABLE=NAME@HOST[+HOST...]`, each variable once. What the parts say is checked where the sandbox is made. */
export function parseSecretOptions(texts: readonly string[]): SecretUses {
  const uses = new Map<string, SecretUse>();
  for (const text of texts) {
    const [, variable, secret, hosts] = OPTION.exec(text) ?? [];
    if (variable === undefined || secret === undefined || hosts === undefined)
      throw usage(`--secret "${text}" is not VARIABLE=NAME@HOST[+HOST...]`, "belljar sandbox create --help");
    if (uses.has(variable)) throw usage(`--secret names the variable ${variable} twice`, "belljar sandbox create --help");
    uses.set(variable, { secret, hosts: hosts.split("+") });
  }
  return Object.fromEntries(uses);
}
