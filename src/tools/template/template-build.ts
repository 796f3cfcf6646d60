import * as z from "zod";
import type { Tool } from "../../catalog/tool.ts";
import { defineDataTool } from "../../catalog/tool.ts";
import { dataResult } from "../../catalog/tool-result.ts";
import { BelljarError } from "../../errors.ts";
import type { Templates } from "../../template/templates.ts";
import { templateOptionsSchema } from "../../template/wire/template-schema.ts";
import { startCommandSchema } from "../../sandbox/wire/start-command.ts";
import { ShownTemplate, toShownTemplate } from "./template-results.ts";

const { name, description, image, platform, snapshot } = templateOptionsSchema.shape;
const { command, ready, readyPort, readyTimeoutMs } = startCommandSchema.shape;

const Input = z.strictObject({
  name: name.describe("One of yours with the same name is replaced"),
  image: image.describe(
    "Image of a registry that new sandboxes may reach, such as registry.example.com/app:1, or the absolute path, on the server's machine, of an OCI image layout or of an archive as `docker save` writes it",
  ),
  platform,
  snapshot_id: snapshot.describe("Id or name of a snapshot, in place of an image"),
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
      "Makes a template from an image or from a snapshot; sandbox_create then starts sandboxes from it by its name.",
      "Sandboxes of an image have its files and none of this machine's programs: what needs bash or Python fails where the image has none, and says so.",
      "Sandboxes that were made from a template that is replaced keep their files.",
    ].join("\n"),
    toolset: "template",
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: true },
    input: Input,
    output: ShownTemplate,
    async run({ principal, signal }, { snapshot_id: from, start_command, ready_command, ready_port, ready_timeout_ms, ...options }) {
      if ((options.image === undefined) === (from === undefined))
        throw new BelljarError(
          "ARGUMENTS_INVALID",
          "A template is made from an image or from a snapshot: name one of `image` and `snapshot_id`",
        );
      const start = toStart({ start_command, ready_command, ready_port, ready_timeout_ms });
      const wanted = { ...options, ...start, ...(from !== undefined && { snapshot: from }) };
      return dataResult(toShownTemplate(await (await templates()).make(principal, wanted, signal), principal));
    },
  });
}

type StartArguments = Pick<z.output<typeof Input>, "start_command" | "ready_command" | "ready_port" | "ready_timeout_ms">;

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
