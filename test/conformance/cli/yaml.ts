import { readFileSync } from "node:fs";
import { join } from "node:path";
import { localCodes } from "../../../src/cli/a2a/errors.js";
import { settings } from "../../../src/cli/a2a/settings.js";
import { olderVersions } from "../../../src/version/client-versions.js";
import { PROTOCOL_VERSION } from "../../../src/version/protocol-version.js";
import { claimedTier, root, type Shown } from "./compliance.js";
import { cliSpecification, notApplicable } from "./requirements.js";

type Yaml = string | number | { readonly [key: string]: Yaml };

/** Returns an object as YAML. Texts are in double quotes. */
function yaml(value: { readonly [key: string]: Yaml }, indent = ""): string {
  return Object.entries(value)
    .map(([key, each]) =>
      typeof each === "object"
        ? `${indent}${key}:\n${yaml(each, `${indent}  `)}`
        : `${indent}${key}: ${JSON.stringify(each)}\n`,
    )
    .join("");
}

function summaryOf(rows: readonly Shown[]): Yaml {
  const count = (own: readonly Shown[], status: string): number => own.filter((row) => row.status === status).length;
  return Object.fromEntries(
    [1, 2, 3].map((tier) => {
      const own = rows.filter((row) => row.tier === tier);
      const counts = { pass: count(own, "pass"), partial: 0, fail: count(own, "fail"), not_measured: 0 };
      const na = count(own, "na");
      const satisfied = claimedTier(rows) >= tier ? "yes" : "no";
      return [`tier_${tier}`, { total: own.length, ...counts, na, satisfied }];
    }),
  );
}

/** The six defaults, each with true if a flag can override it. */
function defaults(): Yaml {
  const { transport, wait, output, verbose, a2aVersion, insecure } = settings;
  const rows = {
    transport_order: { of: transport, isShipped: transport.otherwise.length === 0 },
    wait: { of: wait, isShipped: wait.otherwise === undefined },
    text_output: { of: output, isShipped: output.otherwise === "text" },
    concise_output: { of: verbose, isShipped: !verbose.otherwise },
    protocol_version: { of: a2aVersion, isShipped: a2aVersion.otherwise === undefined },
    tls_verification: { of: insecure, isShipped: !insecure.otherwise },
  };
  const yes = (is: boolean): string => (is ? "yes" : "no");
  return Object.fromEntries(
    Object.entries(rows).map(([name, { of, isShipped }]) => [
      name,
      { shipped: yes(isShipped), overridable: yes(of.flag.startsWith("--")) },
    ]),
  );
}

function requirementOf({ id, tier, level, summary, status, files }: Shown): Yaml {
  const note = status === "pass" ? "" : (notApplicable[id] ?? (files.length > 0 ? "a test fails" : "no test shows it"));
  return {
    tier,
    area: id.replace(/_\d+$/, ""),
    spec: level,
    requirement: summary,
    status,
    note,
    evidence: files.join(", "),
  };
}

/** Returns the report in the form of the specification. @param date of the run, such as `2026-01-31` */
export function yamlOf(rows: readonly Shown[], date: string): string {
  const { name, version, repository } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const local = Object.keys(localCodes).filter((code) => code.startsWith("A2ACLI_ERR_"));
  return yaml({
    report: {
      tool: "parley",
      tool_version: version,
      language: "TypeScript",
      repository: repository?.url ?? name,
      maintainer: "the authors of Parley",
      report_date: date,
      spec_version: cliSpecification.version,
      spec_revision: cliSpecification.revision,
      a2a_versions: [PROTOCOL_VERSION, ...olderVersions.map((each) => each.name)].join(", "),
      agent_tested: "the scripted agent of the tests, served by Parley on this machine",
      agent_tck_conformant: "unknown",
      transports_covered: "JSONRPC, HTTP+JSON, GRPC",
      tier_claimed: claimedTier(rows),
    },
    summary: summaryOf(rows),
    requirements: Object.fromEntries(rows.map((row) => [`A2ACLI_${row.id}`, requirementOf(row)])),
    default_001_breakdown: defaults(),
    error_codes: Object.fromEntries(local.map((code) => [code, { emitted: "yes", note: "" }])),
    attestation: {
      reported_by: "npm run conformance -- --cli",
      date,
      statement: "Written by a run of the tests that the requirements name as evidence.",
    },
  });
}
