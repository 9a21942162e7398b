import type { Status } from "../turn/status";

export function StatusChip({ status }: { status: Status }) {
  return (
    <div
      className="status-chip"
      role="status"
      data-testid="status-chip"
      data-state={status.key}
      title={status.label}
    >
      <span className="status-dot" aria-hidden="true" />
      <span className="status-label">{status.label}</span>
    </div>
  );
}
