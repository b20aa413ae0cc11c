"""What labels are worth, and what to do next: certificates, estimates and advice, above the label models."""

from hyperlabel.trust.advice import Advice, AdviceList, Worth
from hyperlabel.trust.audit import AuditSample, audit_sample
from hyperlabel.trust.certificate import Certificate, Part, certify
from hyperlabel.trust.estimates import Estimate, Estimates, Interval, estimate
from hyperlabel.trust.findings import advise

__all__ = [
    "Advice",
    "AdviceList",
    "AuditSample",
    "Certificate",
    "Estimate",
    "Estimates",
    "Interval",
    "Part",
    "Worth",
    "advise",
    "audit_sample",
    "certify",
    "estimate",
]
