import { expect, it } from "vitest";
import { configKeys } from "../../src/config/config-keys.ts";

/** People's configuration files and environments name these. */
it("keeps every setting with its variables", () => {
  expect(configKeys().map(({ path, env }) => `${path.join(".")} ${env.join(" ")}`)).toMatchInlineSnapshot(`
    [
      "home BELLJAR_HOME",
      "runtimeDirectory BELLJAR_RUNTIME_DIRECTORY",
      "runtime BELLJAR_RUNTIME",
      "storage BELLJAR_STORAGE",
      "secretsKey BELLJAR_SECRETS_KEY",
      "host BELLJAR_HOST",
      "port BELLJAR_PORT",
      "url BELLJAR_URL",
      "tokenFile BELLJAR_TOKEN_FILE",
      "logLevel BELLJAR_LOG_LEVEL",
      "workspace BELLJAR_WORKSPACE WORKSPACE_DIR",
      "snippetsDirectory BELLJAR_SNIPPETS_DIRECTORY",
      "toolsets BELLJAR_TOOLSETS",
      "readOnly BELLJAR_READ_ONLY",
      "legacySse BELLJAR_LEGACY_SSE",
      "execTimeoutMs BELLJAR_EXEC_TIMEOUT_MS",
      "maxOutputBytes BELLJAR_MAX_OUTPUT_BYTES",
      "listMax BELLJAR_LIST_MAX",
      "tombstoneRetentionMs BELLJAR_TOMBSTONE_RETENTION_MS",
      "program.timeoutMs BELLJAR_PROGRAM_TIMEOUT_MS",
      "program.memoryBytes BELLJAR_PROGRAM_MEMORY_BYTES",
      "program.cpus BELLJAR_PROGRAM_CPUS",
      "program.pids BELLJAR_PROGRAM_PIDS",
      "program.diskBytes BELLJAR_PROGRAM_DISK_BYTES",
      "program.openFiles BELLJAR_PROGRAM_OPEN_FILES",
      "program.network BELLJAR_PROGRAM_NETWORK",
      "sandbox.timeoutMs BELLJAR_SANDBOX_TIMEOUT_MS",
      "sandbox.memoryBytes BELLJAR_SANDBOX_MEMORY_BYTES",
      "sandbox.cpus BELLJAR_SANDBOX_CPUS",
      "sandbox.pids BELLJAR_SANDBOX_PIDS",
      "sandbox.diskBytes BELLJAR_SANDBOX_DISK_BYTES",
      "sandbox.openFiles BELLJAR_SANDBOX_OPEN_FILES",
      "sandbox.network BELLJAR_SANDBOX_NETWORK",
      "network.connections BELLJAR_NETWORK_CONNECTIONS",
      "network.connectionsPerSecond BELLJAR_NETWORK_CONNECTIONS_PER_SECOND",
      "network.bytesPerDay BELLJAR_NETWORK_BYTES_PER_DAY",
      "network.ownerConnections BELLJAR_NETWORK_OWNER_CONNECTIONS",
      "network.ownerConnectionsPerSecond BELLJAR_NETWORK_OWNER_CONNECTIONS_PER_SECOND",
      "network.ownerBytesPerDay BELLJAR_NETWORK_OWNER_BYTES_PER_DAY",
      "network.idleMs BELLJAR_NETWORK_IDLE_MS",
      "network.dialMs BELLJAR_NETWORK_DIAL_MS",
      "network.resolvers BELLJAR_NETWORK_RESOLVERS",
      "network.certificates BELLJAR_NETWORK_CERTIFICATES",
    ]
  `);
});
