import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";
import type { AuditLog } from "../../audit/audit-log.ts";
import type { PoolCounts } from "../../sandbox/pool/pool-options.ts";
import type { AuditedCall } from "../../audit/audit.ts";

/** What is counted of one server, as Prometheus reads it. Nothing in it names a caller, a sandbox or a host. */
export interface ServerMetrics {
  /** The same audit, which counts what it is given. */
  counted(audit: AuditLog): AuditLog;
  observeRequest(request: ObservedRequest): void;
  /** Asked with each reading. */
  watch(state: WatchedState): void;
  read(): Promise<{ readonly contentType: string; readonly text: string }>;
}

export interface ObservedRequest {
  readonly method: string;
  /** As it is declared, with its parameters unfilled. */
  readonly route: string;
  readonly status: number;
  readonly seconds: number;
}

export interface WatchedState {
  readonly sandboxes: () => number;
  readonly sessions: () => number;
  /** What stopped sandboxes hold. */
  readonly keptBytes: () => Readonly<Record<"disk" | "memory", number>>;
  /** The sandboxes that wait for their owners. */
  readonly pool: () => readonly PoolCounts[];
}

const SECONDS = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10, 60, 300];
/** A tool's name is a label only while there are so many; dynamic tools may come and go. */
const TOOLS_MAX = 500;

export function createServerMetrics(): ServerMetrics {
  const register = new Registry();
  collectDefaultMetrics({ register });
  const { calls, requests, connections, bytes } = createMeters([register]);
  const tools = new Set<string>();
  const labelOf = ({ tool, outcome }: AuditedCall): string => {
    if (outcome === "TOOL_NOT_FOUND") return "unknown";
    if (tools.size < TOOLS_MAX) tools.add(tool);
    return tools.has(tool) ? tool : "other";
  };
  return {
    counted: (audit) => ({
      assertWritable: () => audit.assertWritable(),
      record(call) {
        calls.observe({ tool: labelOf(call), outcome: call.outcome }, call.durationMs / 1_000);
        audit.record(call);
      },
      written: () => audit.written(),
      recordConnection(connection) {
        const { via, verdict, sentBytes, receivedBytes } = connection;
        connections.inc({ via: String(via), verdict: String(verdict) });
        bytes.inc({ direction: "sent" }, toBytes(sentBytes));
        bytes.inc({ direction: "received" }, toBytes(receivedBytes));
        audit.recordConnection(connection);
      },
      recordRequest: (request) => audit.recordRequest(request),
      prepare: () => audit.prepare(),
      close: () => audit.close(),
      flushAtExit: () => audit.flushAtExit(),
      [Symbol.asyncDispose]: () => audit[Symbol.asyncDispose](),
    }),
    observeRequest: ({ seconds, ...labels }) => requests.observe(labels, seconds),
    watch(state) {
      watchGauge(register, { name: "belljar_sandboxes", help: "Live sandboxes that this server holds" }, state.sandboxes);
      watchGauge(register, { name: "belljar_mcp_sessions", help: "Sessions of MCP clients of the older revisions" }, state.sessions);
      watchKept(register, state.keptBytes);
      watchPool(register, state.pool);
    },
    read: async () => ({ contentType: register.contentType, text: await register.metrics() }),
  };
}

function createMeters(registers: Registry[]) {
  const calls = new Histogram({
    name: "belljar_tool_call_duration_seconds",
    help: "Tool calls, by tool and by outcome: ok, error, or the code of a failure",
    labelNames: ["tool", "outcome"],
    buckets: SECONDS,
    registers,
  });
  const requests = new Histogram({
    name: "belljar_http_request_duration_seconds",
    help: "HTTP requests, to the end of their answers",
    labelNames: ["method", "route", "status"],
    buckets: SECONDS,
    registers,
  });
  const connections = new Counter({
    name: "belljar_egress_connections_total",
    help: "Connections that sandboxes opened or tried to open",
    labelNames: ["via", "verdict"],
    registers,
  });
  const bytes = new Counter({
    name: "belljar_egress_bytes_total",
    help: "Bytes of these connections, as seen from the sandboxes",
    labelNames: ["direction"],
    registers,
  });
  return { calls, requests, connections, bytes };
}

function watchGauge(register: Registry, about: { readonly name: string; readonly help: string }, read: () => number): void {
  const gauge = new Gauge({
    ...about,
    registers: [],
    collect() {
      this.set(read());
    },
  });
  register.registerMetric(gauge);
}

function watchKept(register: Registry, read: WatchedState["keptBytes"]): void {
  const gauge = new Gauge({
    name: "belljar_kept_bytes",
    help: "What the files of the home's stopped sandboxes hold, as far as it was measured",
    labelNames: ["place"],
    registers: [],
    collect() {
      for (const [place, bytes] of Object.entries(read())) this.set({ place }, bytes);
    },
  });
  register.registerMetric(gauge);
}

function watchPool(register: Registry, read: WatchedState["pool"]): void {
  const gauge = new Gauge({
    name: "belljar_pool_ready",
    help: "Sandboxes that wait for their owners",
    labelNames: ["kind"],
    registers: [],
    collect() {
      for (const { kind, ready } of read()) this.set({ kind }, ready);
    },
  });
  const creates = new Counter({
    name: "belljar_pool_creates_total",
    help: "Sandboxes that were created of a kind that waits: taken, or missed while none was ready",
    labelNames: ["kind", "outcome"],
    registers: [],
    collect() {
      this.reset();
      for (const { kind, taken, missed } of read()) {
        this.inc({ kind, outcome: "taken" }, taken);
        this.inc({ kind, outcome: "missed" }, missed);
      }
    },
  });
  register.registerMetric(gauge);
  register.registerMetric(creates);
}

function toBytes(value: unknown): number {
  return typeof value === "number" && value > 0 ? value : 0;
}
