import { useMutation, useQueryClient } from "@tanstack/react-query";
import { BellOff, BellPlus } from "lucide-react";
import type { ReactNode } from "react";
import { receiverWords as texts } from "../texts/receiver.js";
import { Button } from "../ui/parts.js";
import { register, unregister, useRegistrations } from "./registrations.js";

interface TaskBellProps {
  readonly agent: string;
  readonly taskId: string;
  /** True for a task that sends nothing anymore. */
  readonly isOver: boolean;
  readonly onFault: (error: unknown) => void;
}

/** Registers the receiver for a task, and takes that back. */
export function TaskBell({ agent, taskId, isOver, onFault }: TaskBellProps): ReactNode {
  const queries = useQueryClient();
  const known = useRegistrations().find((each) => each.agent === agent && each.taskId === taskId);
  const change = useMutation({
    mutationFn: () => (known === undefined ? register(queries, agent, taskId) : unregister(queries, known)),
    onMutate: () => onFault(undefined),
    onError: onFault,
  });
  if (isOver && known === undefined) return undefined;
  const Icon = known === undefined ? BellPlus : BellOff;
  return (
    <Button
      kind="plain"
      icon
      title={known === undefined ? texts.start : texts.stop}
      disabled={change.isPending}
      onClick={() => change.mutate()}
    >
      <Icon size={14} aria-hidden="true" />
    </Button>
  );
}
