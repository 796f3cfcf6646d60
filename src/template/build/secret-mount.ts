import { invalidLine, quoted } from "./dockerfile-error.ts";

const ID = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/;
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** `--mount=type=secret,...` of a RUN: what the command sees of a secret. */
export interface SecretMount {
  readonly id: string;
  /** Absolute path of a file. */
  readonly target?: string;
  /** Name of a variable. */
  readonly env?: string;
  readonly isRequired: boolean;
}

/** A file at `/run/secrets/ID`, unless another place or a variable is named. Throws `DOCKERFILE_INVALID`. */
export function parseMount(text: string, line: number): SecretMount {
  const given = new Map(text.split(",").map(toPair));
  const unknown = [...given.keys()].find((key) => !["type", "id", "target", "env", "required"].includes(key));
  if (given.get("type") !== "secret") throw invalidLine(line, "RUN --mount is supported for type=secret alone");
  if (unknown !== undefined)
    throw invalidLine(line, `--mount=type=secret has no ${quoted(unknown)} here: it has id, target, env and required`);
  const [id = "", env, target = env === undefined ? `/run/secrets/${id}` : undefined] = ["id", "env", "target"].map((key) =>
    given.get(key),
  );
  const required = given.get("required") ?? "false";
  if (!ID.test(id)) throw invalidLine(line, `${quoted(id)} is no id of a secret`);
  if (env !== undefined && !NAME.test(env)) throw invalidLine(line, `${quoted(env)} is no name of a variable`);
  if (target !== undefined && !/^\/.*[^/]$/.test(target)) throw invalidLine(line, `${quoted(target)} is no absolute path of a file`);
  if (!["", "true", "false"].includes(required)) throw invalidLine(line, "required is true or false");
  return { id, isRequired: required !== "false", ...(target !== undefined && { target }), ...(env !== undefined && { env }) };
}

function toPair(word: string): readonly [string, string] {
  const at = word.indexOf("=");
  const [key, value] = at < 0 ? [word, ""] : [word.slice(0, at), word.slice(at + 1)];
  return [key === "dst" || key === "destination" ? "target" : key, value];
}
