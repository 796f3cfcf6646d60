import type { CommandSpec, OptionSpec } from "../command.ts";
import { LIMIT_OPTIONS } from "../limit-options.ts";
import { START_OPTIONS } from "../start-options.ts";
import { JSON_OPTION, NETWORK, NONE, ONE } from "./shared-options.ts";

/** Whatever a template is made from. */
const MAKING = {
  network: NETWORK,
  ...START_OPTIONS,
  ...LIMIT_OPTIONS,
  description: { type: "string", value: "TEXT", description: "A line for whoever reads the list" },
  json: JSON_OPTION,
} as const satisfies Record<string, OptionSpec>;

/** `belljar template ...`: what sandboxes can start from. */
export const TEMPLATE: readonly CommandSpec[] = [
  {
    name: "template import",
    summary: "Make a template from an image, a snapshot, a folder or a Debian suite. One of the same name is replaced",
    usage: "NAME [IMAGE]",
    positionals: { min: 1, max: 2 },
    options: {
      snapshot: { type: "string", value: "SNAPSHOT", description: "Take this snapshot in place of an image" },
      folder: { type: "string", value: "DIR", description: "Take this folder as the root folder, in place of an image" },
      debian: { type: "string", value: "SUITE", description: "Put this Debian suite together by mmdebstrap, in place of an image" },
      package: { type: "string", multiple: true, value: "NAME", description: "With --debian: a package in addition to the required ones" },
      mirror: { type: "string", value: "URL", description: "With --debian: take the packages from there" },
      platform: { type: "string", value: "OS/ARCH", description: "Of an image for several, such as linux/arm64 (default this machine's)" },
      ...MAKING,
    },
    details:
      "IMAGE is an image of a registry, such as alpine:3.20, a folder with an OCI image layout, or an archive as `docker save` writes it. A registry is reached only with a --network that allows it, and the hosts that it sends its layers from. Images share the layers that they have in common. The image is started once: one that cannot be is no template.",
    load: () => import("../commands/template-import.ts"),
  },
  {
    name: "template build",
    summary: "Make a template from a Dockerfile. One of the same name is replaced",
    usage: "NAME",
    positionals: ONE,
    options: {
      file: { type: "string", short: "f", value: "FILE", description: "The Dockerfile (default Dockerfile in the context)" },
      context: { type: "string", value: "DIR", description: "Folder that COPY takes files from (default this one)" },
      "build-arg": {
        type: "string",
        multiple: true,
        value: "K=V",
        description: "Value of a variable that ARG names; K alone takes this shell's",
      },
      secret: {
        type: "string",
        multiple: true,
        value: "id=ID[,src=FILE|,env=VAR]",
        description: "Secret for RUN --mount=type=secret: of a file, or of a variable of this shell (default ID)",
      },
      target: { type: "string", value: "STAGE", description: "Build this stage, by name or number (default the last one)" },
      ...MAKING,
    },
    details:
      "FROM names `base`, `scratch`, a template of yours, an earlier stage, an image layout or archive by its absolute path, or an image of a registry. Each step runs in a sandbox, under the network policy. A step that depends on nothing that has changed is not run again.",
    load: () => import("../commands/template-build.ts"),
  },
  {
    name: "template list",
    synonyms: ["template ls"],
    summary: "List templates, your own and those that others share",
    usage: "",
    positionals: NONE,
    options: { quiet: { type: "boolean", short: "q", description: "Print the names alone, one a line" }, json: JSON_OPTION },
    load: () => import("../commands/template-list.ts"),
  },
  {
    name: "template info",
    synonyms: ["template inspect"],
    summary: "Show all about a template",
    usage: "NAME",
    positionals: ONE,
    options: { json: JSON_OPTION },
    load: () => import("../commands/template-info.ts"),
  },
  {
    name: "template share",
    summary: "Let every caller of this home start sandboxes from a template",
    usage: "NAME",
    positionals: ONE,
    options: { off: { type: "boolean", description: "Let nobody else any more" }, json: JSON_OPTION },
    load: () => import("../commands/template-share.ts"),
  },
  {
    name: "template remove",
    synonyms: ["template rm"],
    summary: "Remove templates. Sandboxes that were made from them keep their files",
    usage: "NAME...",
    positionals: { min: 1, max: 1000 },
    options: { json: JSON_OPTION },
    load: () => import("../commands/template-remove.ts"),
  },
  {
    name: "template prune",
    summary: "Remove steps of builds that were kept for later ones, and lie in no template",
    usage: "",
    positionals: NONE,
    options: { json: JSON_OPTION },
    load: () => import("../commands/template-prune.ts"),
  },
];
