import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { admin } from "../../api/admin.js";
import { operateWords } from "../../texts/operate.js";
import { Confirm } from "../../ui/dialog.js";
import { ErrorNote } from "../../ui/error.js";
import { css } from "../../ui/parts.js";
import { WriteButton } from "../shared/write-button.js";
import type { DeliveryKey } from "./delivery.js";

const { deliveries: texts } = operateWords;

/** Filters that name all dead deliveries that match. */
export interface RedriveFilter {
  readonly tenant?: string;
  readonly owner?: string;
  readonly target?: string;
}

interface RedriveBarProps {
  readonly chosen: readonly DeliveryKey[];
  readonly filter: RedriveFilter;
  /** True if the list has a filter that a redrive does not have: only chosen ones can be resumed then. */
  readonly isNarrower: boolean;
  readonly onDone: () => void;
}

/** Resumes dead deliveries: the chosen ones, or all that match the filters. */
export function RedriveBar({ chosen, filter, isNarrower, onDone }: RedriveBarProps): ReactNode {
  const [isAsking, setAsking] = useState(false);
  const queries = useQueryClient();
  const redrive = useMutation({
    mutationFn: (named: Parameters<typeof admin.redriveDeliveries>[0]) => admin.redriveDeliveries(named),
    onSuccess: () => {
      setAsking(false);
      onDone();
      return queries.invalidateQueries({ queryKey: ["deliveries"] });
    },
  });
  const { owner, tenant, target } = filter;
  const filters = [
    owner !== undefined && `${operateWords.owner}: ${owner || operateWords.anonymous}`,
    tenant !== undefined && `${operateWords.tenant}: ${tenant || operateWords.defaultTenant}`,
    target !== undefined && `${texts.target}: ${target}`,
  ].filter((each) => each !== false);
  return (
    <>
      <WriteButton
        disabled={chosen.length === 0 || redrive.isPending}
        onClick={() => redrive.mutate({ keys: chosen.map(({ taskId, configId }) => ({ taskId, configId })) })}
      >
        {texts.redriveSelected(chosen.length)}
      </WriteButton>
      <WriteButton disabled={isNarrower} onClick={() => setAsking(true)}>
        {texts.redriveAll}
      </WriteButton>
      <span role="status" className={`${css.soft} ${css.small}`}>
        {redrive.data && texts.redriven(Number(redrive.data.count))}
      </span>
      {redrive.isError && !isAsking && <ErrorNote error={redrive.error} />}
      <Confirm
        title={texts.redriveAllTitle}
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        action={texts.redrive}
        isBusy={redrive.isPending}
        onConfirm={() => redrive.mutate(filter)}
      >
        <p>{texts.redriveAllText(new Intl.ListFormat().format(filters))}</p>
        {redrive.isError && <ErrorNote error={redrive.error} />}
      </Confirm>
    </>
  );
}
