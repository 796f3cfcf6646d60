import * as z from "zod";
import { BelljarError } from "../../errors.ts";
import type { GitSettings } from "./run-git.ts";

const text = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .regex(/^[^\0\r\n]*$/, "must be one line");

/** The key's name makes logs leave its value out. */
export const credentialArgument = () =>
  z
    .strictObject({
      username: text(250).optional().describe('Default "x-access-token", which hosts take beside a token'),
      password: text(4_096).optional().describe("Password or token. Programs in the sandbox could see it: prefer password_env"),
      password_env: z
        .string()
        .regex(/^[A-Za-z_][A-Za-z0-9_]{0,99}$/, "must be the name of a variable")
        .optional()
        .describe("Variable of the sandbox that holds it, as one with the placeholder of a secret"),
    })
    .refine(({ password, password_env: name }) => (password === undefined) !== (name === undefined), "give either password or password_env")
    .optional()
    .describe("For an https remote that asks for it. It is offered to the remote's own host alone, and hooks do not run meanwhile");

export type Credential = NonNullable<z.output<ReturnType<typeof credentialArgument>>>;

const HELPER =
  `!f() { test "$1" = get || exit 0; printf 'username=%s\\npassword=%s\\n' "$BELLJAR_GIT_USERNAME" ` +
  `"\${BELLJAR_GIT_PASSWORD-$(printenv "$BELLJAR_GIT_PASSWORD_ENV")}"; }; f`;
const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/** How git is given a credential: by its environment, for one origin, with every other helper and the repository's hooks switched off. */
export function credentialSettings(url: string, credential: Credential): GitSettings {
  const { username = "x-access-token", password, password_env: name } = credential;
  return {
    config: [
      ["credential.helper", ""],
      [`credential.${originOf(url)}.helper`, HELPER],
      ["core.hooksPath", "/dev/null"],
    ],
    env: {
      BELLJAR_GIT_USERNAME: username,
      ...(password !== undefined && { BELLJAR_GIT_PASSWORD: password }),
      ...(name !== undefined && { BELLJAR_GIT_PASSWORD_ENV: name }),
    },
    ...(password !== undefined && { secret: password }),
  };
}

function originOf(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  const isSafe = parsed?.protocol === "https:" || (parsed?.protocol === "http:" && LOOPBACK.test(parsed.hostname));
  if (parsed && isSafe) return parsed.origin;
  throw new BelljarError("ARGUMENTS_INVALID", "credential: is sent over https alone, and this remote has another kind of address");
}
