import * as z from "zod";
import { BelljarError } from "../../../errors.ts";
import type { Principal } from "../../../sandbox/sandbox.ts";
import type { StartCommand } from "../../../sandbox/wire/start-command.ts";
import type { BuildWork } from "../../../template/making/making.ts";
import type { TemplatesInSteps } from "../../../template/templates-in-steps.ts";
import { isBase, parseName, toDomainName } from "./template-names.ts";
import { type BuildOfSteps, stepsSchema, type StepsBase, toBuild } from "./template-steps.ts";

const COMMAND_MAX = 8_192;
const CREDENTIAL_MAX = 65_536;

/** What `waitForTimeout` of the SDKs says. */
const SLEEP = /^ *sleep +(\d{1,9})(?:\.\d{1,9})?s? *$/;
const SLEEP_MAX_S = 60;

const command = z.string().max(COMMAND_MAX).nullish();
const credential = z.string().min(1).max(CREDENTIAL_MAX);
const registrySchema = z.discriminatedUnion("type", [
  z.object({ type: z.literal("registry"), username: credential, password: credential }),
  z.object({ type: z.literal("gcp"), serviceAccountJson: credential }),
  z.object({ type: z.literal("aws"), awsAccessKeyId: credential, awsSecretAccessKey: credential, awsRegion: credential }),
]);

/** What is built, as E2B's SDKs say it. */
export const buildBody = z.object({
  fromImage: z.string().max(512).nullish(),
  fromTemplate: z.string().max(200).nullish(),
  fromImageRegistry: registrySchema.nullish(),
  startCmd: command,
  readyCmd: command,
  force: z.boolean().nullish(),
  steps: stepsSchema.nullish(),
});

export type BuildBody = z.output<typeof buildBody>;

/** Rejects with `ARGUMENTS_INVALID` for steps that say nothing, and for files that were not sent. */
export async function toWork(templates: TemplatesInSteps, caller: Principal, body: BuildBody): Promise<BuildWork> {
  const base = await toBase(templates, caller, body);
  const steps = toBuild(body.steps ?? [], base, body.force === true);
  const archives = new Map<string, string>();
  for (const hash of steps.hashes) {
    const path = await templates.archives.find(caller.id, hash);
    if (path === undefined)
      throw new BelljarError("ARGUMENTS_INVALID", `The files with the hash ${hash} were not uploaded: ask for a URL, and send them there`);
    archives.set(hash, path);
  }
  const { file, freshFrom } = steps;
  return {
    file,
    archives,
    freshFrom,
    isPublicOnly: true,
    credential: toCredential(body),
    tell: (cause, step) => tellFailure(cause, steps.describe(step)),
  };
}

async function toBase(templates: TemplatesInSteps, caller: Principal, { fromImage, fromTemplate }: BuildBody): Promise<StepsBase> {
  if ((fromImage ?? "") !== "" && (fromTemplate ?? "") !== "")
    throw new BelljarError("ARGUMENTS_INVALID", "The build begins with an image or with a template, not with both");
  if ((fromTemplate ?? "") !== "") return baseOfTemplate(templates, caller, fromTemplate ?? "");
  const image = fromImage ?? "";
  if (image === "")
    throw new BelljarError("ARGUMENTS_INVALID", "The build says neither fromImage nor fromTemplate: it begins with one of them");
  if (isBase(image)) return { image: "base" };
  if (/^[./]/.test(image)) throw new BelljarError("ARGUMENTS_INVALID", "An image is named as in a registry, such as ubuntu:22.04");
  return { image, only: "image" };
}

/** Its commands run as the template's do. */
async function baseOfTemplate(templates: TemplatesInSteps, caller: Principal, text: string): Promise<StepsBase> {
  if (isBase(text)) return { image: "base" };
  const { name, user, cwd } = await templates.info(caller, toDomainName(parseName(text, caller)));
  return { image: name, only: "template", user, workdir: cwd };
}

/** Google's registries take the account's key as a password. Amazon's take one that its own API gives for some hours. */
function toCredential({ fromImageRegistry: given }: BuildBody): BuildWork["credential"] {
  switch (given?.type) {
    case undefined:
      return undefined;
    case "registry":
      return { user: given.username, password: given.password };
    case "gcp":
      return { user: "_json_key", password: given.serviceAccountJson };
    case "aws":
      throw new BelljarError(
        "NOT_SUPPORTED",
        "AWS keys are not exchanged here: give the user AWS and the password of `aws ecr get-login-password` to fromImage",
      );
  }
}

export interface BuildStart {
  /** Of each sandbox. */
  readonly start?: StartCommand;
  /** When the build ends. */
  readonly tryStart?: StartCommand;
}

/**
 * What waits for a time alone waits when the build ends, as on E2B, where sandboxes begin with what ran then. Here they begin anew, and none would be
 * handed over before the time is up.
 */
export function toStart({ startCmd, readyCmd }: Pick<BuildBody, "startCmd" | "readyCmd">): BuildStart {
  const [begins, ready] = [startCmd ?? "", readyCmd ?? ""];
  const [, seconds] = SLEEP.exec(ready) ?? [];
  if (begins === "" && (ready === "" || seconds !== undefined)) return {};
  const command = begins === "" ? ":" : begins;
  if (seconds === undefined) return both({ command, ...(ready !== "" && { ready }) });
  const waitS = Math.min(Number(seconds), SLEEP_MAX_S);
  return { start: { command }, tryStart: { command, ready: `sleep ${waitS}`, readyTimeoutMs: 2 * SLEEP_MAX_S * 1_000 } };
}

function both(start: StartCommand): BuildStart {
  return { start, tryStart: start };
}

/** In the words of E2B's builds, which their SDKs' users look for. */
function tellFailure(cause: BelljarError, wish: ReturnType<BuildOfSteps["describe"]>): string {
  if (!wish) return cause.message;
  const why = cause.code === "USER_UNKNOWN" ? `command failed: unauthenticated: invalid username: '${wish.user}'` : cause.message;
  return `failed to run command '${wish.command}': ${why}`;
}
