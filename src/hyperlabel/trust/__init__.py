"""What labels are worth, and what to do next: certificates, estimates and advice, above the label models."""

from hyperlabel.trust.audit import AuditSample, audit_sample
from hyperlabel.trust.certificate import Certificate, Part, certify

__all__ = ["AuditSample", "Certificate", "Part", "audit_sample", "certify"]
