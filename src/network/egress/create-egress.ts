import { createSecureContext, rootCertificates } from "node:tls";
import type { Egress } from "../egress.ts";
import { Allowance } from "./bounds.ts";
import { DEFAULT_LIMITS, type EgressOptions } from "./egress-options.ts";
import { HttpProxy } from "./http-proxy.ts";
import { createSystemResolver } from "./resolver.ts";
import { SandboxEgress } from "./sandbox-egress.ts";
import type { UpstreamTrust } from "./upstream-agent.ts";

export function createEgress(options: EgressOptions): Egress {
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const resolver = options.resolver ?? createSystemResolver();
  const trust: UpstreamTrust = options.upstreamCa
    ? { secureContext: createSecureContext({ ca: [...rootCertificates, ...options.upstreamCa] }) }
    : {};
  const services = new Set<SandboxEgress>();
  /** Kept for the process's life, so that an owner's daily bound survives the end of its sandboxes. */
  const owners = new Map<string, Allowance>();
  const allowanceOf = (owner: string): Allowance => {
    const allowance = owners.get(owner) ?? new Allowance(limits.owner);
    owners.set(owner, allowance);
    return allowance;
  };
  const proxy = new HttpProxy();
  return {
    serve(sandbox, state) {
      const allowances = [new Allowance(limits.sandbox), allowanceOf(sandbox.owner)];
      const closed = (): void => void services.delete(service);
      const service = new SandboxEgress(sandbox, state, {
        sandbox,
        resolver,
        limits,
        listeners: options.listeners,
        allowances,
        record: options.record,
        ...(options.onFault && { onFault: options.onFault }),
        proxy,
        trust,
        closed,
      });
      services.add(service);
      return service;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([...services].map((service) => service[Symbol.asyncDispose]()));
    },
  };
}
