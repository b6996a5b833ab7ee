import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { LimitUse } from "../../../../gen/parley/admin/v1/admin_pb.js";
import { admin } from "../../api/admin.js";
import { operateWords } from "../../texts/operate.js";
import { serverWords } from "../../texts/server.js";
import { ErrorNote } from "../../ui/error.js";
import { bytesText, durationText, numberText } from "../../ui/format.js";
import { Badge, css, Skeleton } from "../../ui/parts.js";
import { FilterField } from "../shared/fields.js";

const { limits: texts } = serverWords;

/** Milliseconds between reads. */
const EVERY = 5_000;

/** Those that refused first, then those that were changed, then all others by name. */
function byInterest(one: LimitUse, other: LimitUse): number {
  if (one.refused !== other.refused) return one.refused > other.refused ? -1 : 1;
  const changed = (each: LimitUse): number => (each.value === each.defaultValue ? 1 : 0);
  return changed(one) - changed(other) || (one.name < other.name ? -1 : 1);
}

/** Returns a value in the unit that ends its name. */
function valueText(name: string, value: number): string {
  if (name.endsWith("Ms")) return durationText(value);
  return /Bytes/.test(name) ? bytesText(value) : numberText(value);
}

/** The limits of the process, with what each has refused. */
export function LimitsTab({ filter = "" }: { readonly filter: string | undefined }): ReactNode {
  const navigate = useNavigate({ from: "/operate/server" });
  const { data, error, refetch } = useQuery({
    queryKey: ["limits"],
    queryFn: () => admin.listLimits({}),
    refetchInterval: EVERY,
  });
  if (error !== null) return <ErrorNote error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <Skeleton lines={8} />;
  const shown = data.limits.filter(({ name }) => name.toLowerCase().includes(filter.toLowerCase())).sort(byInterest);
  return (
    <>
      <p className={css.soft}>{texts.about}</p>
      <search className={css.row} aria-label={operateWords.filter}>
        <FilterField
          isSearch
          label={texts.search}
          value={filter}
          onValue={(limit) => void navigate({ search: (before) => ({ ...before, limit }), replace: true })}
        />
      </search>
      {shown.length === 0 ? <p className={css.soft}>{texts.noMatch}</p> : <LimitsTable limits={shown} />}
    </>
  );
}

function LimitsTable({ limits }: { readonly limits: readonly LimitUse[] }): ReactNode {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls it sideways.
    <section className={`${css.card} ${css.scroll}`} tabIndex={0} aria-label={serverWords.tabs.limits}>
      <table className={css.table}>
        <thead>
          <tr>
            {[texts.name, texts.refused, texts.value, texts.standard].map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {limits.map(({ name, value, defaultValue, refused }) => (
            <tr key={name}>
              <td className={css.mono}>{name}</td>
              <td>{refused === 0n ? "0" : <Badge tone="wait">{numberText(refused)}</Badge>}</td>
              <td title={String(value)}>
                {valueText(name, value)} {value !== defaultValue && <Badge>{texts.changed}</Badge>}
              </td>
              <td title={String(defaultValue)}>{valueText(name, defaultValue)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
