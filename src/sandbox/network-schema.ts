import * as z from "zod";

/** Far more than any list that a person or a model writes; the texts' own bounds are the rules'. */
const RULES_MAX = 1_000;
const RULE_MAX_CHARACTERS = 1_024;
const HOSTS_MAX = 64;
const SECRETS_MAX = 64;

const rule = z.string().min(1).max(RULE_MAX_CHARACTERS);

/** The shape of a policy. What its rules say is checked where it is set. */
export const networkPolicySchema = z.union([z.enum(["none", "all"]), z.strictObject({ allow: z.array(rule).max(RULES_MAX).readonly() })]);

const secretUse = z.strictObject({
  secret: z.string().min(1).max(128),
  hosts: z.array(z.string().min(1).max(300)).min(1).max(HOSTS_MAX).readonly(),
});

/** By the name of the variable. */
export const secretUsesSchema = z
  .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, "must be the name of a variable"), secretUse)
  .refine((uses) => Object.keys(uses).length <= SECRETS_MAX, `at most ${SECRETS_MAX} secrets`);
