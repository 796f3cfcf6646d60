import type { FuzzTarget } from "./fuzz-target.ts";

/** Everything that reads what strangers wrote and can be driven by bytes. Loaded one at a time: counting costs by the size of what is loaded. */
export const targets: Readonly<Record<string, () => Promise<FuzzTarget>>> = {
  "audit-line": async () => (await import("./targets/audit-line.ts")).auditLine,
  "client-hello": async () => (await import("./targets/client-hello.ts")).clientHello,
  dockerfile: async () => (await import("./targets/dockerfiles.ts")).dockerfile,
  dockerignore: async () => (await import("./targets/dockerfiles.ts")).dockerignore,
  "dns-questions": async () => (await import("./targets/names.ts")).dnsQuestions,
  "echo-mask": async () => (await import("./targets/echo-mask.ts")).echoMask,
  "egress-proxy": async () => (await import("./targets/egress-proxy.ts")).egressProxy,
  frames: async () => (await import("./targets/frames.ts")).frames,
  "guest-answers": async () => (await import("./targets/guest-answers.ts")).guestAnswers,
  hosts: async () => (await import("./targets/names.ts")).hosts,
  "http-origin": async () => (await import("./targets/http-origin.ts")).httpOrigin,
  "image-files": async () => (await import("./targets/images.ts")).imageFiles,
  "image-zstd": async () => (await import("./targets/images.ts")).imageZstd,
  "json-schemas": async () => (await import("./targets/json-schemas.ts")).jsonSchemas,
  "npm-requirements": async () => (await import("./targets/user-tools.ts")).npmRequirements,
  paths: async () => (await import("./targets/names.ts")).paths,
  "port-target": async () => (await import("./targets/port-target.ts")).portTarget,
  "shell-tools": async () => (await import("./targets/user-tools.ts")).shellTools,
  "state-changes": async () => (await import("./targets/state-changes.ts")).stateChanges,
  "tool-arguments": async () => (await import("./targets/tool-arguments.ts")).toolArguments,
};
