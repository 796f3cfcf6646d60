/** The library's public API, listed by hand; `test/pins/exports.test.ts` holds it. */
export { BelljarError, ERRORS } from "./errors.ts";
export type { ErrorCode } from "./errors.ts";
export { loadConfig } from "./config/config.ts";
export type { Config } from "./config/config.ts";
export { checkNetworkPolicy, parseNetworkPolicy } from "./network/check-policy.ts";
export type { ConnectionRecord } from "./network/connection-record.ts";
export type { Egress } from "./network/egress.ts";
export { createEgress } from "./network/egress/create-egress.ts";
export type { EgressOptions } from "./network/egress/egress-options.ts";
export { openOwnListeners } from "./network/own-listeners.ts";
export type { OwnListeners } from "./network/own-listeners.ts";
export type { NetworkPolicy, SecretUses } from "./network/policy.ts";
export type { PortLink } from "./network/ports/port-link.ts";
export { createSecretStore } from "./secrets/create-secret-store.ts";
export type { SecretStore } from "./secrets/secret-store.ts";
export { openRuntime, openRuntimes } from "./runtime/registry.ts";
export type { Usage } from "./runtime/contract/run.ts";
export type { Isolation, IsolationCheck, PoolHoldings, Runtime, RuntimeOptions, StoragePool } from "./runtime/contract/runtime.ts";
export type { Limits, Workspace } from "./runtime/contract/sandbox-spec.ts";
export type { ExecExit, ExecOptions, ExecProcess, FileInfo, Guest, GuestFiles, RunOptions, RunResult } from "./runtime/guest/guest.ts";
export { LOCAL } from "./sandbox/sandbox.ts";
export type {
  CreatedSandbox,
  CreateOptions,
  ListFilter,
  Principal,
  Sandbox,
  SandboxEvent,
  SandboxInfo,
  Sandboxes,
} from "./sandbox/sandbox.ts";
export type { ForkOptions, Forks, ForkSource, SnapshotInfo, SnapshotOptions, Snapshots } from "./sandbox/state/snapshots.ts";
export type { ChangedPaths, Checkpoint, CheckpointOptions, ComparedPoints } from "./sandbox/state/time-line.ts";
export type { PointChange, PointDiff, RollbackResult, TimeLine, TimeLineInfo } from "./sandbox/state/time-line.ts";
export { createLocalSandboxes } from "./sandbox/local-sandboxes.ts";
export type { LocalSandboxes, LocalSandboxesOptions } from "./sandbox/local-sandboxes-options.ts";
export { createRemoteSandboxes } from "./remote/remote-sandboxes.ts";
export { createStoredTemplates, createTemplates } from "./template/create-templates.ts";
export type { TemplatesOptions } from "./template/create-templates.ts";
export { createRemoteTemplates } from "./remote/remote-templates.ts";
export type { RegistryParts } from "./template/open-registry.ts";
export type { BuildName, Builds, LogWish, Templates } from "./template/templates.ts";
export type { BuildInfo, BuildLogPage } from "./template/wire/build-schema.ts";
export type { TemplateDetail, TemplateOptions } from "./template/wire/template-schema.ts";
export { createContext, interruptContext, listContexts, removeContext, restartContext, runCode } from "./interpreter/lasting/contexts.ts";
export type { CodeResult, ContextInfo, LostContext, RunCode } from "./interpreter/lasting/contexts.ts";
export type { CodeError, ShownValue } from "./interpreter/lasting/kernel-run.ts";
export type { LanguageSettings, LanguagesSettings } from "./interpreter/configured-languages.ts";
export { createInterpreter } from "./interpreter/interpreter.ts";
export type { Interpreter, InterpreterOptions } from "./interpreter/interpreter.ts";
export type { Program, ProgramResult, RunProgramOptions } from "./interpreter/program.ts";
export { createCatalog } from "./catalog/catalog.ts";
export type { Catalog, CatalogOptions } from "./catalog/catalog.ts";
export { defineDataTool, defineTool } from "./catalog/tool.ts";
export type { DataResult, TextResult, Tool, ToolContext, ToolResult } from "./catalog/tool.ts";
export { dataResult, textResult } from "./catalog/tool-result.ts";
export { builtinTools } from "./tools/builtin-tools.ts";
