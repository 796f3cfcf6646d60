import * as z from "zod";
import type { Tool } from "../../catalog/tool.ts";
import { defineDataTool } from "../../catalog/tool.ts";
import { dataResult } from "../../catalog/tool-result.ts";
import { BelljarError } from "../../errors.ts";
import type { Templates } from "../../template/templates.ts";
import { type TemplateOptions, templateOptionsSchema } from "../../template/wire/template-schema.ts";
import { startCommandSchema } from "../../sandbox/wire/start-command.ts";
import { variablesSchema } from "../../sandbox/wire/texts-schema.ts";
import { limitArguments, toLimits } from "../sandbox/sandbox-results.ts";
import { pairsArgument } from "../shell/command-argument.ts";
import { ShownTemplate, toShownTemplate } from "./template-results.ts";

const { name, description, image, platform, snapshot, folder, debian, dockerfile, context, target } = templateOptionsSchema.shape;
const { command, ready, readyPort, readyTimeoutMs } = startCommandSchema.shape;

const Input = z.strictObject({
  name: name.describe("One of yours with the same name is replaced"),
  image: image.describe(
    "Image of a registry that new sandboxes may reach, such as registry.example.com/app:1, or the absolute path, on the server's machine, of an OCI image layout or of an archive as `docker save` writes it",
  ),
  platform,
  snapshot_id: snapshot.describe("Id or name of a snapshot"),
  folder: folder.describe("Absolute path of a folder, on the server's machine, with what is to be the root folder"),
  debian: debian.describe("A Debian suite, if the server has mmdebstrap. New sandboxes must reach its mirror"),
  dockerfile: dockerfile.describe(
    "The text of a Dockerfile. FROM names `base`, `scratch`, a template or an image. Each RUN is done in a sandbox, which reaches what new sandboxes reach. Write small files with `RUN printf`",
  ),
  context: context.describe("Absolute path of the folder, on the server's machine, that COPY takes files from"),
  build_args: pairsArgument().pipe(variablesSchema).optional().describe('Values of the variables that ARG names, as ["NAME=value"]'),
  target,
  ...limitArguments,
  start_command: command.optional(),
  ready_command: ready,
  ready_port: readyPort,
  ready_timeout_ms: readyTimeoutMs,
  description: description.describe("For whoever reads the list of templates"),
});

export function createTemplateBuild(templates: () => Promise<Templates>): Tool {
  return defineDataTool({
    name: "template_build",
    title: "Make a template",
    description: [
      "Makes a template from an image, a snapshot, a folder, a Debian suite or a Dockerfile; sandbox_create then starts sandboxes from it by its name.",
      "Sandboxes of an image have its files and none of this machine's programs: what needs bash or Python fails where the image has none, and says so.",
      "Steps of a Dockerfile on which nothing has changed are taken from earlier builds. One that fails says its line and its last output.",
      "Sandboxes that were made from a template that is replaced keep their files.",
    ].join("\n"),
    toolset: "template",
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: true },
    input: Input,
    output: ShownTemplate,
    async run({ principal, signal }, args) {
      const made = await (await templates()).make(principal, toOptions(args), signal);
      return dataResult(toShownTemplate(made, principal));
    },
  });
}

type Arguments = z.output<typeof Input>;

function toOptions(args: Arguments): TemplateOptions {
  const {
    snapshot_id: from,
    build_args: variables,
    start_command,
    ready_command,
    ready_port,
    ready_timeout_ms,
    cpu,
    memory_mb,
    ...same
  } = args;
  if ([args.image, from, args.folder, args.debian, args.dockerfile].filter((one) => one !== undefined).length !== 1)
    throw new BelljarError(
      "ARGUMENTS_INVALID",
      "A template is made from an image, a snapshot, a folder, a Debian suite or a Dockerfile: name one of `image`, `snapshot_id`, `folder`, `debian` and `dockerfile`",
    );
  const start = toStart({ start_command, ready_command, ready_port, ready_timeout_ms });
  return {
    ...same,
    limits: toLimits({ cpu, memory_mb }),
    ...start,
    ...(from !== undefined && { snapshot: from }),
    ...(variables && { buildArgs: variables }),
  };
}

type StartArguments = Pick<Arguments, "start_command" | "ready_command" | "ready_port" | "ready_timeout_ms">;

function toStart({
  start_command: command,
  ready_command: ready,
  ready_port: readyPort,
  ready_timeout_ms: readyTimeoutMs,
}: StartArguments) {
  const more = { ready, readyPort, readyTimeoutMs };
  if (command !== undefined) return { start: { command, ...more } };
  if (Object.values(more).every((one) => one === undefined)) return {};
  throw new BelljarError(
    "ARGUMENTS_INVALID",
    "What is ready is the `start_command`: name it, or leave the arguments that begin with ready_ out",
  );
}
